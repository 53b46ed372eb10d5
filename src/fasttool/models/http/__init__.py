"""POST of a JSON body to one endpoint, blocking or on an event loop, and what its failures mean.

Blocking requests go over httpcore, asynchronous ones over aiohttp. Measured with benchmarks/bench_http.py
(Python 3.11, two busy cores; POST of 2 kB, reply of 1 kB, keep-alive, loopback; median of 15, in µs, good
for their ratios only): http.client 300, httpcore 499, urllib3 554, httpx 812, ours 512; asynchronous:
aiohttp 374, httpx 2034, ours 451. The deadline over every byte costs httpcore next to nothing.
"""
