"""The judgements of `pgassay doctor`, one module a part of the machine: values in, findings out, nothing is read."""
