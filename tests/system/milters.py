"""A thousand connections of mail servers that wait."""

import struct
import time

from support import Tamisd, check, connect, wait_for

N = 1000


def idle():
    server = Tamisd('[milter]\nlisten = ["unix:FOLDER/milter.sock"]\n')
    before = server.resident(), server.n_descriptors(), server.n_tasks()
    connections = []
    for _ in range(N):
        stream = connect(server.unix("milter"))
        stream.sendall(struct.pack(">IcIII", 13, b"O", 6, 0x1FF, 0x1FFFFF))
        connections.append(stream)
    for stream in connections:
        check(stream.recv(64)[4:5] == b"O", "options are agreed on")
    during = server.resident()
    check(during - before[0] < 50, f"{N} connections take {during - before[0]:.0f} MiB")
    for stream in connections:
        stream.close()
    wait_for(lambda: server.n_descriptors() <= before[1], "descriptors are closed")
    time.sleep(0.1)
    check(server.n_tasks() <= before[2] + 2, "no thread is left")
    server.stop()
    return f"{N} connections take {during - before[0]:.1f} MiB"
