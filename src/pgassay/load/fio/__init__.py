"""fio as a load: what the drive under the data directory can do by itself, while the server idles beside it."""
