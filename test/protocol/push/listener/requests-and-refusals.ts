import { expect } from 'bun:test';
import { type RawAnswer, RawHttp, type RawRequest } from '../../../../testing/clients/raw-http.ts';

/** Requests to a push listener, and its refusals. */

export const ID = '0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a69';
export const INTERESTS = `/publish_api/v1/instances/${ID}/publishes/interests`;
export const USERS = `/publish_api/v1/instances/${ID}/publishes/users`;
export const DEVICE = `/device_api/v1/instances/${ID}/devices/web/web-1`;
export const JSON_HEADERS = { 'content-type': 'application/json' };

/** A publish with a body of this many bytes. */
export const publish = (bytes: number): RawRequest => ({
  method: 'POST',
  target: INTERESTS,
  headers: JSON_HEADERS,
  body: 'x'.repeat(bytes),
});

/** The content of a refusal. Fails if it does not have the shape of every refusal. */
export function refused(answer: RawAnswer): [status: number, error: string, description: string] {
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.body).toEndWith('}\n');
  const { error, description, ...others } = JSON.parse(answer.body);
  expect(others).toEqual({});
  expect(error).toBeString();
  expect(description).not.toBe('');
  return [answer.status, error, description];
}

/** Sends these bytes on a connection of their own; returns the refusal, and waits for the end. */
export async function refusedBytes(
  server: { readonly port: number },
  ...parts: (string | Uint8Array)[]
) {
  await using connection = await RawHttp.open(server);
  for (const part of parts) connection.write(part);
  const answer = await connection.read();
  expect(answer.headers.get('connection')).toBe('close');
  await connection.untilEnd();
  return refused(answer);
}

/** The log line for a connection that the server closes. */
export function closed(why: string) {
  return { level: 'info', message: `Push connection closed: ${why}`, address: '127.0.0.1' };
}

/** Waits, turn by turn of the loop, for what the server does by itself. */
export async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve));
}
