// Drives a broker with pulsar-flex, a client written in JavaScript from the protocol alone.
import assert from 'node:assert/strict';
import { once, EventEmitter } from 'node:events';
import { after, test } from 'node:test';
import flex from 'pulsar-flex';

const { Consumer, Producer, logLevel } = flex;
const { hostname, port } = new URL(process.env.PLERION_URL ?? 'pulsar://127.0.0.1:6650');
const rest = process.env.PLERION_HTTP ?? 'http://127.0.0.1:8080';
const PRESENT_MS = 10_000;

const common = { discoveryServers: [`${hostname}:${port}`], logLevel: logLevel.NOTHING };
let topics = 0;

// The client keeps its sockets and timers for ever, which must not keep the process alive.
after(() => setImmediate(() => process.exit()));

const newTopic = () => `persistent://public/default/node-${process.pid}-${topics++}`;
const texts = (count, first = 0) => Array.from({ length: count }, (_, at) => `m${first + at}`);

async function produce(topic, options = {}) {
  const producer = new Producer({ ...common, topic, ...options });
  await producer.create();
  return producer;
}

/** A consumer that hands each message to `onMessage`, and whose `took(count)` waits for as many texts. */
async function consume(topic, { onMessage = ({ ack }) => ack(), ...options } = {}) {
  const consumer = new Consumer({
    ...common,
    topic,
    subscription: 's',
    subType: Consumer.SUB_TYPES.EXCLUSIVE,
    consumerName: 'c',
    initialPosition: Consumer.INITIAL_POSITION.EARLIEST,
    ...options,
  });
  const got = [];
  const news = new EventEmitter();
  await consumer.subscribe();
  await consumer.run({
    autoAck: false,
    onMessage: async (message) => {
      got.push(message);
      news.emit('message');
      await onMessage(message);
    },
  });
  const took = async (count) => {
    const signal = AbortSignal.timeout(PRESENT_MS);
    while (got.length < count) await once(news, 'message', { signal });
    return got.map(({ message }) => message.toString());
  };
  return { consumer, got, took };
}

const stats = async (topic) => {
  const answer = await fetch(`${rest}/admin/v2/${topic.replace('://', '/')}/stats`);
  assert.equal(answer.status, 200);
  return answer.json();
};

async function eventually(condition) {
  const deadline = Date.now() + PRESENT_MS;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `not within ${PRESENT_MS} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const backlog = async (topic) => (await stats(topic)).subscriptions.s.msgBacklog;

test('messages arrive in order and are acknowledged', async () => {
  const topic = newTopic();
  const { took } = await consume(topic);
  const producer = await produce(topic);
  for (const payload of texts(50)) await producer.sendMessage({ payload });
  assert.deepEqual(await took(50), texts(50));
  await eventually(async () => (await backlog(topic)) === 0);
});

test('properties come through', async () => {
  const topic = newTopic();
  const { got, took } = await consume(topic);
  await (await produce(topic)).sendMessage({ payload: 'x', properties: { a: '1', b: '2' } });
  await took(1);
  assert.deepEqual(got[0].properties, { a: '1', b: '2' });
});

test('a batch is one entry of many messages', async () => {
  const topic = newTopic();
  const { took } = await consume(topic);
  const messages = texts(20).map((payload) => ({ payload, properties: { kind: 'batched' } }));
  await (await produce(topic)).sendBatch({ messages });
  assert.deepEqual(await took(20), texts(20));
});

test('a cumulative acknowledgement covers what is before it', async () => {
  const topic = newTopic();
  const onMessage = async ({ message, ack }) => {
    if (message.toString() === 'm7') await ack({ type: Consumer.ACK_TYPES.CUMULATIVE });
  };
  const { took } = await consume(topic, { onMessage });
  const producer = await produce(topic);
  for (const payload of texts(10)) await producer.sendMessage({ payload });
  await took(10);
  await eventually(async () => (await backlog(topic)) === 2);
});

test('a negative acknowledgement brings the message back, counted', async () => {
  const topic = newTopic();
  const onMessage = ({ redeliveryCount, ack }) =>
    redeliveryCount < 2 ? ack({ type: Consumer.ACK_TYPES.NEGATIVE }) : ack();
  const { got, took } = await consume(topic, { subType: Consumer.SUB_TYPES.SHARED, onMessage });
  await (await produce(topic)).sendMessage({ payload: 'x' });
  await took(3);
  assert.deepEqual(got.map(({ redeliveryCount }) => redeliveryCount), [0, 1, 2]);
});

test('an exclusive subscription refuses a second consumer', async () => {
  const topic = newTopic();
  await consume(topic);
  await assert.rejects(consume(topic, { consumerName: 'other' }), /exclusive|busy/i);
});

test('an exclusive producer keeps others out', async () => {
  const topic = newTopic();
  const exclusive = { producerAccessMode: Producer.ACCESS_MODES.EXCLUSIVE };
  await produce(topic, exclusive);
  await assert.rejects(produce(topic, exclusive), /exclusive|fenced/i);
});

test('producer and consumer come back after an unload', async () => {
  const topic = newTopic();
  const { took } = await consume(topic, { reconnectInterval: 100 });
  const producer = await produce(topic);
  await producer.sendMessage({ payload: 'm0' });
  await took(1);
  await eventually(async () => (await backlog(topic)) === 0);
  const answer = await fetch(`${rest}/admin/v2/${topic.replace('://', '/')}/unload`, { method: 'PUT' });
  assert.equal(answer.status, 204);
  await producer.sendMessage({ payload: 'm1' });
  assert.equal((await took(2)).at(-1), 'm1');
});
