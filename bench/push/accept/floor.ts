/**
 * The least that could work: a bare Bun program that parses the body of a publish or a registration, answers
 * with an id and keeps nothing. What Fanfare is measured against, so nothing here may be cleverer than the
 * obvious use of Bun.
 *
 *     sh scripts/bun.sh bench/push/accept/floor.ts PORT
 */
import { randomUUID } from 'node:crypto';

const headers = { 'content-type': 'application/json' };

async function publish(request: Request): Promise<Response> {
  const body: { interests?: unknown } = JSON.parse(await request.text());
  if (!Array.isArray(body.interests)) return new Response('no interests', { status: 422 });
  return new Response(`{"publishId":"pubid-${randomUUID()}"}`, { headers });
}

async function register(request: Request): Promise<Response> {
  const body: { token?: unknown } = JSON.parse(await request.text());
  if (typeof body.token !== 'string') return new Response('no token', { status: 400 });
  return new Response(`{"id":"fcm-${randomUUID()}","initialInterestSet":[]}`, { headers });
}

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.argv[2] ?? 7002),
  idleTimeout: 120,
  fetch(request) {
    if (request.method === 'POST') {
      if (request.url.endsWith('/publishes/interests')) return publish(request);
      if (request.url.endsWith('/devices/fcm')) return register(request);
    }
    return new Response('not found', { status: 404 });
  },
});
