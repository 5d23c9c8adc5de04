import { expect, it } from 'bun:test';
import { Readiness } from './readiness.ts';

it('names an engine that is away at once, and counts it as a reason after 30 seconds', () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const readiness = new Readiness(() => nowMs);
  readiness.setRealtime('listening');
  readiness.setEngine('realtime-1', {
    isRefused: false,
    sinceMs: nowMs,
    why: 'no reply within 2000 ms',
  });
  const note = 'realtime-1: engine away since 2026-01-01T00:00:00.000Z: no reply within 2000 ms';
  nowMs += 30_000;
  expect([readiness.reasons(), readiness.notes()]).toEqual([[], [note]]);
  nowMs += 1;
  expect(readiness.reasons()).toEqual([note]);
  readiness.setEngine('realtime-1', undefined);
  expect([readiness.reasons(), readiness.notes()]).toEqual([[], []]);
});

it('is not ready without a certificate, and notes one that was not renewed', () => {
  const readiness = new Readiness();
  readiness.setRealtime('listening');
  readiness.certificateFault = () => ({ isMissing: true, text: 'There is none.' });
  expect([readiness.reasons(), readiness.notes()]).toEqual([['certificate: There is none.'], []]);
  readiness.certificateFault = () => ({ isMissing: false, text: 'It ends.' });
  expect([readiness.reasons(), readiness.notes()]).toEqual([[], ['certificate: It ends.']]);
});
