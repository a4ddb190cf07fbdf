"""A load like TPC-C's: `driver` makes, plays and checks it, `rows` makes the rows of its tables; SQL and scripts."""
