"""What a real NVMe drive counts of itself, by nvme-cli's JSON: host writes from the standard log, NAND writes from the
vendor's own or from OCP's.

`logs` reads the texts (pure), `reading` asks the program and finds the one log that this drive has.
"""
