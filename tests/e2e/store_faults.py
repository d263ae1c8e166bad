"""The faults of Redis: real ones, and such as a peer in its place plays."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from redis_process import RedisError, render_command
from resp_peer import Peer, dripping, late, resetting, saying, silent
from weir_process import eventually


@dataclass
class Fault:
    begin: Callable  # does the harm to a Site
    end: Callable    # undoes it
    says: str        # a pattern of what operators are told
    options: tuple = ()  # of redis-server


def command(*words):
    return lambda site: site.redis.command(*words)


def refuses(site, code):
    try:
        site.redis.command("GET", "a")
    except RedisError as error:
        return code in str(error)
    return False


def loop_in_a_script(site):
    site.redis.command("CONFIG", "SET", "busy-reply-threshold", 1)
    site.loop = site.redis.connect()
    site.loop.sendall(render_command("EVAL", "while true do end", 0))
    eventually(lambda: refuses(site, "BUSY"), what="a Redis that is busy")


def end_the_loop(site):
    site.redis.command("SCRIPT", "KILL")
    site.loop.close()


def lose_the_master(site):
    site.redis.command("CONFIG", "SET", "replica-serve-stale-data", "no")
    site.redis.command("REPLICAOF", "127.0.0.1", 1)


def take_a_snapshot(site, word):
    site.redis.command("BGSAVE")
    info = b"rdb_bgsave_in_progress:0", b"rdb_last_bgsave_status:" + word
    eventually(lambda: all(i in site.redis.command("INFO", "persistence") for i in info), what="a snapshot")


def fail_a_snapshot(site):
    gone = os.path.join(site.redis.scratch.name, "gone")
    os.mkdir(gone)
    site.redis.command("CONFIG", "SET", "dir", gone)
    os.rmdir(gone)
    site.redis.command("CONFIG", "SET", "save", "900 1")
    take_a_snapshot(site, b"err")


def make_a_snapshot(site):
    site.redis.command("CONFIG", "SET", "dir", site.redis.scratch.name)
    take_a_snapshot(site, b"ok")


def set_a_password(site):
    site.redis.command("CONFIG", "SET", "requirepass", "new")
    site.redis.password = "new"
    site.redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def take_the_password_away(site):
    site.redis.command("CONFIG", "SET", "requirepass", "")
    site.redis.password = None


def those_to_come(site):
    """The keys of the paths that will be asked for during the fault."""
    before = [key for key in site.redis.keys() if key.endswith("/before}")]
    return [key.replace("/before}", f"/during-{n}}}") for key in before for n in range(10)]


def put_lists_in_their_place(site):
    for key in those_to_come(site):
        site.redis.command("RPUSH", key, "somebody else's")


def delete_the_lists(site):
    for key in those_to_come(site):
        site.redis.command("DEL", key)


REAL = {
    "killed": Fault(lambda site: site.redis.kill(), lambda site: site.redis.start(), "[Rr]efused"),
    "stopped": Fault(lambda site: site.redis.pause(), lambda site: site.redis.resume(), "no answer"),
    "busy": Fault(loop_in_a_script, end_the_loop, "BUSY"),
    "out of memory": Fault(command("CONFIG", "SET", "maxmemory", 1), command("CONFIG", "SET", "maxmemory", 0), "OOM"),
    "a replica": Fault(command("REPLICAOF", "127.0.0.1", 1), command("REPLICAOF", "NO", "ONE"), "READONLY"),
    "without its master": Fault(lose_the_master, command("REPLICAOF", "NO", "ONE"), "MASTERDOWN"),
    "can't persist": Fault(fail_a_snapshot, make_a_snapshot, "MISCONF", ("--enable-protected-configs", "yes")),
    "a new password": Fault(set_a_password, take_the_password_away, "NOAUTH"),
    "not permitted": Fault(command("ACL", "SETUSER", "default", "-evalsha", "-eval"),
                           command("ACL", "SETUSER", "default", "+@all"), "NOPERM"),
    "a command of the scripts": Fault(command("ACL", "SETUSER", "default", "-pexpire"),
                                      command("ACL", "SETUSER", "default", "+@all"), "can't run|NOPERM"),
    "wrong types": Fault(put_lists_in_their_place, delete_the_lists, "WRONGTYPE"),
}


def played(answer, says, greet=None):
    def begin(site):
        site.redis.kill()
        site.peer = Peer(site.redis.port, answer, greet).start()

    def end(site):
        site.peer.stop()
        site.redis.start()

    return Fault(begin, end, says)


ANSWER = b"*2\r\n:1700000000000\r\n:1\r\n"  # of one plain operation
LOADING = b"-LOADING Redis is loading the dataset in memory\r\n"

PLAYED = {
    "loading": played(saying(LOADING), "LOADING", {"PING": LOADING, "SCRIPT": LOADING}),
    "loading again": played(saying(LOADING), "LOADING"),
    "a cluster that is down": played(saying(b"-CLUSTERDOWN The cluster is down\r\n"), "CLUSTERDOWN"),
    "a slot under way": played(saying(b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n"), "TRYAGAIN"),
    "no script that it keeps": played(saying(b"-NOSCRIPT No matching script. Please use EVAL.\r\n"), "NOSCRIPT"),
    "a node of a Cluster": played(saying(b"-MOVED 1 127.0.0.1:1\r\n"), "MOVED"),
    "resets": played(resetting, "reset|closed"),
    "silence": played(silent, "no answer"),
    "a byte at a time": played(dripping(ANSWER, 0.02), "no answer"),
    "late answers": played(late(ANSWER, 0.03), "."),
    "garbage": played(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "not RESP"),
    "an array of 2^31": played(saying(b"*2147483648\r\n"), "not RESP"),
    "other answers": played(saying(b"*3\r\n:1\r\n$2\r\nno\r\n*0\r\n"), "."),
}

ALL = REAL | PLAYED
