import { join } from 'node:path';
import Pusher from 'pusher';
import { APP } from '../../testing/servers/fanfare.ts';
import type { OwnRedis } from '../../testing/servers/redis.ts';
import type { LoadBalancer } from './load-balancer.ts';
import type { DemoNode } from './nodes.ts';

export interface SiteOptions {
  readonly port: number;
  readonly nodes: readonly DemoNode[];
  readonly balancer: LoadBalancer;
  readonly redis: OwnRedis;
}

export interface Site extends AsyncDisposable {
  readonly port: number;
}

const CHANNEL = 'presence-room';
const NAME_MAX = 20;
const TEXT_MAX = 200;
const BODY_BYTES_MAX = 10_000;

const PAGE = join(import.meta.dir, 'page');
const files: Readonly<Record<string, string>> = {
  '/': join(PAGE, 'index.html'),
  '/page.css': join(PAGE, 'page.css'),
  '/page.js': join(PAGE, 'page.js'),
  // As it comes from npm: the page needs no CDN.
  '/pusher.min.js': join(import.meta.dir, '../../node_modules/pusher-js/dist/web/pusher.min.js'),
};

/** Serves the page, and is the backend of its app: it signs subscriptions and triggers events. */
export function serveSite({ port, nodes, balancer, redis }: SiteOptions): Site {
  const signer = new Pusher({ appId: APP.id, key: APP.key, secret: APP.secret, host: 'unused' });
  let isRedisPaused = false;

  const state = async () => ({
    key: APP.key,
    channelsPort: balancer.port,
    channel: CHANNEL,
    isRedisPaused,
    nodes: await Promise.all(
      nodes.map(async (node) => ({
        number: node.number,
        state: node.state,
        port: node.port,
        readiness: await node.readiness(),
        sockets: balancer.socketsOf(node.number),
      })),
    ),
  });

  /** Lets a client into the room. A user is one connection; the others see on which node it is. */
  const authorize = (form: URLSearchParams): Response => {
    const socketId = form.get('socket_id') ?? '';
    const node = balancer.numberOf(socketId);
    if (form.get('channel_name') !== CHANNEL || node === undefined) return refused(403);
    const name = (form.get('name') ?? 'someone').slice(0, NAME_MAX);
    const member = { user_id: socketId, user_info: { name, node } };
    return Response.json(signer.authorizeChannel(socketId, CHANNEL, member));
  };

  const trigger = async (form: URLSearchParams): Promise<Response> => {
    const target = balancer.next();
    const node = nodes.find(({ number }) => number === target?.number);
    if (node === undefined) return Response.json({ status: 0 });
    const id = (form.get('id') ?? '').slice(0, NAME_MAX);
    const text = (form.get('text') ?? '').slice(0, TEXT_MAX);
    const sentAtMs = Number(form.get('sentAtMs'));
    const status = await node.trigger(CHANNEL, 'message', { id, text, sentAtMs, by: node.number });
    return Response.json({ status, by: node.number });
  };

  const command = async (what: string, which: string): Promise<Response> => {
    if (which === 'redis') {
      isRedisPaused = what === 'pause';
      redis.signal(isRedisPaused ? 'SIGSTOP' : 'SIGCONT');
      return Response.json({});
    }
    const node = nodes.find(({ number }) => String(number) === which);
    if (what === 'kill') node?.kill();
    if (what === 'start') await node?.start();
    return Response.json({});
  };

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    maxRequestBodySize: BODY_BYTES_MAX,
    // A node that starts while Redis is paused answers late.
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, host } = new URL(request.url);
      // Otherwise any page in the same browser could stop the cluster, also under a host name of its own.
      const isOurs = host === `127.0.0.1:${server.port}` || host === `localhost:${server.port}`;
      if (!isOurs) return refused(403);
      if (request.method === 'GET') {
        if (pathname === '/state') return Response.json(await state());
        const file = files[pathname];
        return file === undefined ? refused(404) : new Response(Bun.file(file));
      }
      const origin = request.headers.get('origin');
      if (origin !== null && origin !== `http://${host}`) return refused(403);
      const form = new URLSearchParams(await request.text());
      if (pathname === '/auth') return authorize(form);
      if (pathname === '/events') return await trigger(form);
      const [, what, which] = /^\/(kill|start|pause|resume)\/(\d|redis)$/.exec(pathname) ?? [];
      if (what === undefined || which === undefined) return refused(404);
      return await command(what, which);
    },
    error: (error) => new Response(error.message, { status: 500 }),
  });
  return {
    port: server.port ?? 0,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

const refused = (status: number): Response => new Response('', { status });
