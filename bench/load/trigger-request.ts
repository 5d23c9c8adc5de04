import type { AppAddress } from '../bench-app.ts';
import { EVENT_NAME } from './bench-event.ts';

/**
 * Builds the bytes of one signed `POST /apps/:id/events`, ready to be written to a socket.
 * Costs about 3 µs, so a step's requests are built before it starts.
 * Source: Channels HTTP API, "Authentication".
 */
export function triggerRequest(app: AppAddress, channel: string, data: string): Buffer {
  return signedRequest(app, '/events', eventBody(channel, data));
}

/** Builds the bytes of any signed POST; `path` is below that of the app. */
export function signedRequest(app: AppAddress, path: string, body: string): Buffer {
  return Buffer.from(
    `POST ${signedTarget(app, 'POST', path, body)} HTTP/1.1\r\n` +
      `Host: ${app.host}:${app.port}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** The body that triggers one event on each channel. */
export function eventBody(channels: string | readonly string[], data: string): string {
  return JSON.stringify({ name: EVENT_NAME, channels: [channels].flat(), data });
}

/** The signed path and query of one request; `path` is below that of the app. */
export function signedTarget(
  app: AppAddress,
  method: 'GET' | 'POST',
  path: string,
  body?: string,
): string {
  const whole = `/apps/${app.appId}${path}`;
  const query = [
    `auth_key=${app.key}`,
    `auth_timestamp=${Math.floor(Date.now() / 1000)}`,
    'auth_version=1.0',
    ...(body === undefined ? [] : [`body_md5=${Bun.MD5.hash(body, 'hex')}`]),
  ].join('&');
  const signature = new Bun.CryptoHasher('sha256', app.secret)
    .update(`${method}\n${whole}\n${query}`)
    .digest('hex');
  return `${whole}?${query}&auth_signature=${signature}`;
}
