"""A whole agent over MQTT with paho, and a protobuf of its own: python3 agent.py HOST PORT DEVICE_ID TOKEN

Says hello and heartbeats, takes one command, acknowledges and reports it, waits until the result is committed, leaves.
Prints one JSON object of what it saw; exits non-zero when something did not come in time.
"""

import json
import queue
import sys

import paho.mqtt.client as mqtt

HOST, PORT, DEVICE, TOKEN = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
UP, DOWN = f"d/{DEVICE}/up", f"d/{DEVICE}/down"
PATIENCE = 15

# Envelope: the numbers of its fields.
HELLO, HEARTBEAT, COMMAND_ACK, COMMAND_RESULT, GOODBYE = 2, 3, 4, 6, 12
WELCOME, HEARTBEAT_ACK, COMMAND, RESULT_ACK = 32, 33, 34, 36


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def fields(data):
    """The fields of a message by number; the last of each counts."""
    found, at = {}, 0

    def next_varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = next_varint()
        if tag & 7 == 0:
            found[tag >> 3] = next_varint()
        elif tag & 7 == 2:
            length = next_varint()
            found[tag >> 3] = data[at : at + length]
            at += length
        else:
            at += {1: 8, 5: 4}[tag & 7]
    return found


arrived = queue.Queue()
client = mqtt.Client(client_id=DEVICE, protocol=mqtt.MQTTv311)
client.username_pw_set(DEVICE, TOKEN)
connected = queue.Queue()
subscribed = queue.Queue()
client.on_connect = lambda _client, _data, _flags, code: connected.put(code)
client.on_subscribe = lambda _client, _data, _id, granted: subscribed.put(granted)
client.on_message = lambda _client, _data, message: arrived.put((message.topic, message.payload))

saw, said = [], 0


def say(field, body, qos=1):
    """Publishes an envelope, and waits until it was accepted."""
    global said
    said += 1
    info = client.publish(UP, number(1, said) + text(field, body), qos=qos)
    info.wait_for_publish(PATIENCE)
    if not info.is_published():
        raise TimeoutError(f"{field} was not acknowledged")


def hear(field):
    """The next frame of that kind."""
    while True:
        topic, payload = arrived.get(timeout=PATIENCE)
        assert topic == DOWN, topic
        envelope = fields(payload)
        saw.append(max(envelope))
        if field in envelope:
            return fields(envelope[field])


client.connect(HOST, PORT, keepalive=30)
client.loop_start()
code = connected.get(timeout=PATIENCE)
if code != 0:
    sys.exit(f"refused: {code}")
client.subscribe(DOWN, qos=1)
assert subscribed.get(timeout=PATIENCE) == (1,)
welcome = hear(WELCOME)
say(HELLO, number(1, 1) + number(2, 1) + text(3, "paho-1") + text(6, "linux") + text(8, "boot"))
say(HEARTBEAT, text(3, "paho-1") + number(6, 4242))
hear(HEARTBEAT_ACK)
body = fields(hear(COMMAND)[1])
command_id, kind = body[1].decode(), body[4].decode()
say(COMMAND_ACK, text(1, command_id))
output = text(1, "done") + text(2, "utf-8")
say(COMMAND_RESULT, text(1, command_id) + number(3, 1) + number(4, 0) + text(5, output))
committed = hear(RESULT_ACK)[1].decode()
say(GOODBYE, number(1, 1), qos=0)
client.disconnect()
client.loop_stop()
print(json.dumps({"epoch": welcome[2], "command": command_id, "kind": kind, "committed": committed, "saw": saw}))
