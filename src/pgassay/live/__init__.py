"""A run in a browser, on this machine alone: `pgassay serve`, and the page of a run that goes on.

Reads records and shows the report's own pages and figures; it knows no lab, and the lab does not know it, so nothing of
it is in the way of a measurement, and it lives on when a lab dies. Starlette and uvicorn are the extra `live`.
"""
