"""Training steps over two hosts: two network namespaces, joined by a link of limited bandwidth.

    python benchmarks/two_hosts.py [--gigabits 1 10] [--models a,c,f] [--delay MS] [--output FILE]

Needs root on Linux, with iproute2. Each namespace is a host with a name, an address and one end of
a virtual cable; tc limits what each end sends. mpirun stands on the first and starts its daemon on
the second by a script in place of ssh; one rank of one thread is on each, and they speak TCP. Both
run on this machine's processors and memory, so what is measured is the link and not a second
machine. The same steps over shared memory, by 1 × 2 threads and by one rank stand beside it, as in
ranks.py. --delay holds packets back, by the kernel where it can (netem), else by delayed.py, which
needs a processor's time for it. The delay that a link really has is measured by messages of 8
bytes. What was made is removed in the end, also by Ctrl-C or SIGTERM.
"""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from shutil import which

from delayed import LONGEST
from ranks import SINGLE_PROCESS, HERE, Way, here, keep, options_of, steps, sums_of, sums_tables
from versus_pytorch import names_of

NEEDED = ("ip", "tc", "unshare", "mpirun")
NETWORK = "10.213.77"
BURST = 128_000                 # bytes that may pass at once, for each Gbit/s: a millisecond's
NAMED = 'hostname "$0"; exec "$@"'

# what mpirun starts its daemon with: host, and the words of a command for that host's shell
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
"""


def run(*words):
    """RuntimeError: the command failed, with what it said."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


class Link:
    """Two hosts and the cable between them; a context manager, which removes them.

    gigabits: a second, each way. delay: milliseconds, each way; netem: whether the kernel holds the
    packets back, not delayed.py.
    """

    def __init__(self, gigabits, delay=None, netem=True):
        self.gigabits, self.delay, self.netem = gigabits, delay, netem
        self.hosts = [f"host{os.getpid()}{end}" for end in "ab"]        # and their namespaces
        self.cables = [f"cable{os.getpid()}{end}" for end in "ab"]
        self.name = f"{gigabits:g} Gbit/s" + (f", {delay:g} ms" if delay else "")
        self._forwarder = None

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        if self._forwarder:
            self._forwarder.terminate()
            self._forwarder.communicate()
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL)
        self._folder.cleanup()

    def _make(self):
        for host in self.hosts:
            run("ip", "netns", "add", host)
        if self.delay and not self.netem:
            self._lay_delayed()
        else:
            self._lay()
        for n, (host, cable) in enumerate(zip(self.hosts, self.cables), 1):
            run("ip", "-n", host, "address", "add", f"{NETWORK}.{n}/24", "dev", cable)
            run("ip", "-n", host, "link", "set", "lo", "up")
            run("ip", "-n", host, "link", "set", cable, "up")
            burst = round(BURST * max(1, self.gigabits))
            run("tc", "-n", host, "qdisc", "add", "dev", cable, "root", "handle", "1:", "tbf",
                "rate", f"{self.gigabits:g}gbit", "burst", burst, "latency", "50ms")
            if self.delay and self.netem:
                run("tc", "-n", host, "qdisc", "add", "dev", cable, "parent", "1:1", "netem",
                    "delay", f"{self.delay:g}ms", "limit", 100_000)
        self._write()

    def _lay(self):
        """Two ends of a virtual cable, one in each host."""
        (host, other), (cable, end) = self.hosts, self.cables
        run("ip", "link", "add", cable, "netns", host, "type", "veth",
            "peer", "name", end, "netns", other)

    def _lay_delayed(self):
        """Those of delayed.py, which stays at work."""
        words = [sys.executable, HERE / "delayed.py", *self.cables, f"{self.delay:g}"]
        self._forwarder = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, text=True)
        if self._forwarder.stdout.readline() != "ready\n":
            raise RuntimeError("delayed.py has ended: its error stands above")
        for host, cable in zip(self.hosts, self.cables):
            run("ip", "link", "set", cable, "netns", host)
            run("ip", "-n", host, "link", "set", cable, "mtu", LONGEST)

    def _write(self):
        """What mpirun reads and calls."""
        folder = Path(self._folder.name)
        self._agent, self._hostfile = folder / "agent", folder / "hosts"
        self._agent.write_text(AGENT)
        self._agent.chmod(0o700)
        self._hostfile.write_text("".join(f"{host} slots=1\n" for host in self.hosts))

    @property
    def way(self):
        """One rank of one thread on each host."""
        first = self.hosts[0]
        words = ["ip", "netns", "exec", first, "unshare", "--uts", "sh", "-c", NAMED, first,
                 "mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", "2",
                 "--hostfile", self._hostfile, "--prtemca", "plm_ssh_agent", self._agent,
                 "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                 "--mca", "btl_tcp_if_include", f"{NETWORK}.0/24"]
        return Way("2 hosts × 1", 2, 1, tuple(words), self.name)


def has_netem():
    """Whether this kernel can hold packets back."""
    try:
        with Link(1, 1):
            return True
    except RuntimeError:
        return False


@contextmanager
def ended_by_signals():
    """Within it, SIGTERM and SIGHUP end the program as Ctrl-C does, so that all is removed."""
    def end(number, frame):
        raise KeyboardInterrupt

    kept = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def missing():
    """Why this cannot run here; None: it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "needs root, to make network namespaces: run it as root on Linux"
    without = [name for name in NEEDED if not which(name)]
    if without:
        return f"needs {', '.join(without)}: install iproute2, util-linux and '.[cluster]'"
    return None


def trial(options, models, netem):
    """Measure all links one after another, and print what came out."""
    lines = []
    for gigabits in options.gigabits:
        with Link(gigabits, options.delay, netem) as link:
            print(f"\n## {link.name}", flush=True)
            steps(models, [SINGLE_PROCESS, here(1, 2), here(1, 1), here(2, 1), link.way], options)
            lines += keep(sums_of(link.way, max(3, options.rounds // 3), True), options.output)
    sums_tables(lines)


def main():
    parser = options_of(__doc__)
    parser.add_argument("--gigabits", type=float, nargs="+", default=[1, 10], metavar="N",
                        help="bandwidth of the link, each way (1 10)")
    parser.add_argument("--delay", type=float, metavar="MS",
                        help="milliseconds for which each end holds its packets back")
    options = parser.parse_args()
    models = names_of(options.models, parser.error)
    if reason := missing():
        print(f"two_hosts.py {reason}", file=sys.stderr)
        sys.exit(2)
    with ended_by_signals():
        netem = has_netem()
        if not netem:
            by = "delayed.py holds them back" if options.delay else "the cable's is measured below"
            print(f"this kernel has no netem to delay packets: {by}")
        try:
            trial(options, models, netem)
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
