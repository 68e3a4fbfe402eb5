"""Tables in the paper's style, in every format."""
