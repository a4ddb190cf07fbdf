"""How a response grows with clients or threads: a kink, the gain beyond it, and the Universal Scalability Law.

Each law has two shape parameters and a free level, fitted on the logarithm, where noise is a share of the response and
what moves a whole block cancels. See docs/scaling.md.
"""
