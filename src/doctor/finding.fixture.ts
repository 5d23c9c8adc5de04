import { expect } from 'bun:test';

/** Matches a finding that something is wrong, by parts of its detail and of its advice. */
export function found(result: 'failed' | 'warning', detail: string, advice = '') {
  return {
    result,
    detail: expect.stringContaining(detail),
    advice: expect.stringContaining(advice),
  };
}

/** Matches a finding that all is well. */
export function fine(detail: string) {
  return { result: 'ok' as const, detail: expect.stringContaining(detail) };
}
