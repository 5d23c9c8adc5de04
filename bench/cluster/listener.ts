import type { AppAddress } from '../bench-app.ts';

/** Subscribes one connection to public channels. Settles when all subscriptions are confirmed. What arrives is dropped. */
export async function listenTo(
  { host, port, key }: AppAddress,
  channels: readonly string[],
): Promise<Disposable> {
  const socket = new WebSocket(`ws://${host}:${port}/app/${key}?protocol=7`);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let confirmed = 0;
  socket.onmessage = ({ data }) => {
    if (confirmed === channels.length) return;
    const { event } = JSON.parse(String(data));
    if (event === 'pusher:connection_established') {
      for (const channel of channels) {
        socket.send(JSON.stringify({ event: 'pusher:subscribe', data: { channel } }));
      }
    }
    if (event === 'pusher_internal:subscription_succeeded') confirmed++;
    if (confirmed === channels.length) resolve();
  };
  socket.onclose = ({ code }) => reject(new Error(`the listener was closed with ${code}`));
  await promise;
  return { [Symbol.dispose]: () => socket.close() };
}
