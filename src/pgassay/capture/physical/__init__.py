"""The data of a capture as the server's own files: bloat, free space and layout are those of the source.

`fetching` brings them here and checks them, `cost` says before what that takes. What recovery and our private server
need of them is `postgres.adoption`'s business.
"""
