import { describe, expect, it } from 'bun:test';
import { PushRefusal } from '../refusal.ts';
import { readDraft } from './publish-faults.ts';
import { readPublishRequest } from './publish-request.ts';

const NOW_MS = Date.UTC(2026, 11, 1, 12);
const context = { instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781', nowMs: NOW_MS };

function read(perSecond: unknown) {
  const body = { interests: ['a'], web: { notification: { title: 'Hi' } }, perSecond };
  const request = readPublishRequest('interests', Buffer.from(JSON.stringify(body)), context);
  return request instanceof PushRefusal ? request.description : request;
}

describe('perSecond', () => {
  it('is a whole number from 1 to 1,000,000, and is kept', () => {
    for (const perSecond of [1, 5000, 1_000_000]) {
      expect(read(perSecond)).toMatchObject({
        body: expect.stringContaining(`"perSecond":${perSecond}`),
      });
    }
    for (const perSecond of [null, undefined]) expect(read(perSecond)).toBeObject();
  });

  it('is refused otherwise', () => {
    for (const perSecond of [0, -1, 1.5, 1_000_001, 1e300, '5000', true, [], {}]) {
      expect(read(perSecond)).toBe('`perSecond`: must be a whole number from 1 to 1000000');
    }
  });

  it('is among the faults of a draft', () => {
    const fields = { interests: ['a'], web: {}, perSecond: 0 };
    const { faults } = readDraft('interests', fields, { ...context, bodyBytes: 10 });
    expect(faults.map(({ field }) => field)).toEqual(['perSecond']);
  });
});
