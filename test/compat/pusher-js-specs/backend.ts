import Pusher from 'pusher';

/** An app whose key is written in the specs. */
export interface SpecApp {
  readonly id: string;
  readonly key: string;
  readonly secret: string;
}

/** Answers the script of the request `/…/NUMBER` with a call of the receiver that the page made for it. */
function callOf(receiver: string, result: unknown): Response {
  return new Response(`${receiver}(null, ${JSON.stringify(result)});`, {
    headers: { 'content-type': 'text/javascript; charset=utf-8' },
  });
}

/** A value that the library encoded for a URL: JSON, or else the text itself. */
function decoded(value: string): unknown {
  const text = atob(value);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Starts the backend that the specs talk to. It does what `integration_tests_server/index.js` of the package does, as far
 * as the specs use it. Events go to all `servers`, because a spec does not say on which of them its channel is.
 */
export function startSpecBackend(
  app: SpecApp,
  servers: readonly string[],
): Disposable & { readonly port: number } {
  const library = new Pusher({
    appId: app.id,
    key: app.key,
    secret: app.secret,
    cluster: 'unused',
  });

  async function publish(event: { channel: string; event: string; data: unknown }): Promise<void> {
    const body = JSON.stringify({
      name: event.event,
      channels: [event.channel],
      data: JSON.stringify(event.data),
    });
    const path = `/apps/${app.id}/events`;
    const query = library.createSignedQueryString({ method: 'POST', path, body });
    for (const server of servers) {
      const response = await fetch(`${server}${path}?${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        tls: { rejectUnauthorized: false },
      });
      if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    }
  }

  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/auth': async (request) => {
        const isPost = request.method === 'POST';
        const asked = isPost
          ? new URLSearchParams(await request.text())
          : new URL(request.url).searchParams;
        const socketId = asked.get('socket_id') ?? '';
        const answer = library.authorizeChannel(socketId, asked.get('channel_name') ?? '', {
          user_id: socketId,
          user_info: {
            name: `Integration ${socketId}`,
            email: `integration-${socketId}@example.com`,
          },
        });
        if (isPost) return Response.json(answer);
        return new Response(`${asked.get('callback')}(${JSON.stringify(answer)})`, {
          headers: { 'content-type': 'text/javascript; charset=utf-8' },
        });
      },
      '/v2/send/:number': async (request) => {
        const asked = new URL(request.url).searchParams;
        await publish({
          channel: atob(asked.get('channel') ?? ''),
          event: atob(asked.get('event') ?? ''),
          data: JSON.parse(atob(asked.get('data') ?? '')),
        });
        return callOf(`Pusher.Integration.ScriptReceivers[${request.params.number}]`, {});
      },
      '/v2/jsonp/echo/:number': (request) => {
        const asked = [...new URL(request.url).searchParams];
        return callOf(
          `Pusher.ScriptReceivers[${request.params.number}]`,
          Object.fromEntries(asked.map(([name, value]) => [name, decoded(value)])),
        );
      },
      '/v2/script_request/echo': (request) => {
        const { receiver, ...rest } = Object.fromEntries(new URL(request.url).searchParams);
        return callOf(receiver ?? '', rest);
      },
      '/jsonp/500/:number': new Response('', { status: 500 }),
    },
    fetch: () => new Response('', { status: 404 }),
  });
  return {
    port: http.port ?? 0,
    [Symbol.dispose]() {
      http.stop(true);
    },
  };
}
