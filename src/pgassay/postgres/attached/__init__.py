"""A staging server that the user names: what a study may change there, how it is put back, and who else is there.

It is somebody else's server, so nothing is started, stopped or written but databases of our own, and settings that the
server takes by a reload. Everything is listed on this machine before it is done (`changes`), see docs/your-server.md.
"""
