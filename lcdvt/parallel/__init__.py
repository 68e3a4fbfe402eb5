"""The same work here, on a process pool or on a Dask cluster; progress, interrupts and memory."""
