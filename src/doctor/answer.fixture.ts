import type { HttpAnswer } from './client/http-exchange.ts';

/** An answer, as the doctor gets it. */
export function answer(
  status: number,
  body = '',
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  return { kind: 'answer', status, body, headers: new Map(Object.entries(headers)) };
}
