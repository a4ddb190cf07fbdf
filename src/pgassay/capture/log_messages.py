"""What `capture` says of a server's log: what cannot be read, what was left out, what to switch on."""
