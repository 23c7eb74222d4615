"""A cable that holds packets back, for two_hosts.py where the kernel has no netem (Linux, root).

    python benchmarks/delayed.py NAME OTHER MILLISECONDS

Makes two network devices (TUN) of these names, says "ready", and from then on hands each packet
that is sent into one to the other, so many milliseconds later. They are gone when it ends. It is
one process that handles a packet at a time: packets are long (see LONGEST), and beyond some Gbit/s
it is itself the limit.
"""

import os
import sys
import time
from collections import deque
from contextlib import suppress
from fcntl import ioctl
from select import select
from struct import pack

LONGEST = 60_000                # bytes of a packet; the devices' MTU
TUNSETIFF = 0x400454CA          # names of linux/if_tun.h
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000


def device(name):
    """A file whose reads are packets that were sent into a new device, and whose writes arrive."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    ioctl(file, TUNSETIFF, pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return file


def forward(one, other, delay):
    """Hand packets over, `delay` seconds late, until a signal ends it."""
    to = {one: other, other: one}
    late = deque()              # (when it is due, the packet, for whom), in order
    while True:
        patience = max(0.0, late[0][0] - time.monotonic()) if late else None
        for file in select([one, other], [], [], patience)[0]:
            packet = os.read(file, 2 * LONGEST)
            late.append((time.monotonic() + delay, packet, to[file]))
        while late and late[0][0] <= time.monotonic():
            _, packet, file = late.popleft()
            with suppress(OSError):         # a device that is down loses it, as cables do
                os.write(file, packet)


def main():
    name, other, milliseconds = sys.argv[1:]
    ends = device(name), device(other)
    print("ready", flush=True)
    forward(*ends, float(milliseconds) / 1000)


if __name__ == "__main__":
    main()
