"""The paper's second experiment: MNIST and USPS, handwritten digits of two sizes and styles."""
