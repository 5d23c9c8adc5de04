import { expect, it } from 'bun:test';
import { chmodSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type HandledEvent } from '../../testing/clients/official-client.ts';
import { eventually } from '../../testing/eventually.ts';

const DEMO = join(import.meta.dir, '../../examples/cluster/run.ts');

interface Member {
  readonly id: string;
  readonly info: { readonly name: string; readonly node: number };
}

/** Starts the demo on any two ports. Everything that it keeps is in `folder`. */
async function startDemo() {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-demo-'));
  // PostgreSQL runs as a user of its own.
  chmodSync(folder, 0o711);
  const child = Bun.spawn([process.execPath, DEMO, '--port', '0'], {
    env: { ...process.env, TMPDIR: folder },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const decoder = new TextDecoder();
  let printed = '';
  const output = child.stdout.getReader();
  while (!printed.includes('Ctrl-C')) {
    const { value, done } = await output.read();
    if (done) throw new Error(`The demo ended: ${printed}`);
    printed += decoder.decode(value, { stream: true });
  }
  const portOf = (name: string) =>
    Number(new RegExp(`^${name} +http://127.0.0.1:(\\d+)`, 'm').exec(printed)?.[1]);
  const page = `http://127.0.0.1:${portOf('Page')}`;
  return {
    page,
    folder,
    port: portOf('Channels'),
    post: (path: string, form = {}, headers = {}) =>
      fetch(page + path, { method: 'POST', body: new URLSearchParams(form), headers }),
    async stop() {
      child.kill('SIGINT');
      return await child.exited;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGINT');
      await child.exited;
    },
  };
}

const isRemoved = ([event]: HandledEvent) => event === 'pusher:member_removed';

it('npm run cluster-demo shows an event and the members of three servers, also when one is killed, and leaves nothing behind', async () => {
  await using demo = await startDemo();
  expect(await (await fetch(demo.page)).text()).toContain('/page.js');
  expect((await fetch(`${demo.page}/pusher.min.js`)).status).toBe(200);

  const backend = { authEndpoint: `${demo.page}/auth`, userAuthEndpoint: '' };
  using ann = connect(demo, { backend });
  const annReceives = ann.subscribe('presence-room');
  await annReceives.subscribed();
  using bob = connect(demo, { backend });
  const bobReceives = bob.subscribe('presence-room');
  await bobReceives.subscribed();
  const [event, member] = (await annReceives.next()) as [string, Member];
  const annsNode = Object(annReceives.channel).members.me.info.node;
  expect(event).toBe('pusher:member_added');
  expect(member.id).toBe(bob.pusher.connection.socket_id);
  expect(member.info.node).not.toBe(annsNode);

  const answer = await demo.post('/events', { id: '1', text: 'hello', sentAtMs: '5' });
  const { by } = (await answer.json()) as { by: number };
  const received: HandledEvent = ['message', { id: '1', text: 'hello', sentAtMs: 5, by }];
  expect(await annReceives.next()).toEqual(received);
  expect(await bobReceives.next()).toEqual(received);

  // No other page of the same browser may do this.
  const path = `/kill/${member.info.node}`;
  expect((await demo.post(path, {}, { origin: 'http://example.com' })).status).toBe(403);
  expect((await demo.post(path)).status).toBe(200);
  const [, back] = (await annReceives.next()) as [string, Member];
  expect(back.info.node).not.toBe(member.info.node);
  const [, gone] = (await annReceives.first(isRemoved)) as [string, Member];
  expect(gone.id).toBe(member.id);
  expect((await demo.post(`/start/${member.info.node}`)).status).toBe(200);
  const state = Object(await (await fetch(`${demo.page}/state`)).json());
  expect(state.nodes.map((node: { state: string }) => node.state)).toEqual(['up', 'up', 'up']);

  expect(await demo.stop()).toBe(0);
  await eventually(
    () => readdirSync(demo.folder),
    (left) => left.length === 0,
  );
  rmdirSync(demo.folder);
}, 90_000);
