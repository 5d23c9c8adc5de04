/** What the model answers. Texts hold one byte in each character (latin1). */
export type Reply = string | number | null | Status | Failure | readonly Reply[];

/** A status such as `OK`. */
export class Status {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error that Redis answers with. It begins with its code. */
export class Failure extends Error {}

export const OK = new Status('OK');

export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
export const NO_INTEGER = 'ERR value is not an integer or out of range';
export const SYNTAX = 'ERR syntax error';

/** Encodes a reply. Source: Redis serialization protocol specification, RESP2. */
export function encodeReply(reply: Reply): string {
  if (reply === null) return '$-1\r\n';
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`;
  if (typeof reply === 'number') return `:${reply}\r\n`;
  if (reply instanceof Status) return `+${reply.text}\r\n`;
  if (reply instanceof Failure) return `-${reply.message}\r\n`;
  return `*${reply.length}\r\n${reply.map(encodeReply).join('')}`;
}
