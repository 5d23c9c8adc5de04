import { describe, expect, it } from 'bun:test';
import { PushRefusal } from '../refusal.ts';
import { readPublishRequest } from './publish-request.ts';

const NOW_MS = Date.UTC(2026, 11, 1, 12);
const context = { instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781', nowMs: NOW_MS };

function read(fields: object) {
  const body = { interests: ['a'], web: { notification: { title: 'Hi' } }, ...fields };
  const request = readPublishRequest('interests', Buffer.from(JSON.stringify(body)), context);
  return request instanceof PushRefusal ? request.description : request;
}

describe('sendAtLocal', () => {
  it('has its audience read when the first place on earth has that time', () => {
    expect(read({ sendAtLocal: '2026-12-24T18:00' })).toMatchObject({
      sendAtMs: Date.UTC(2026, 11, 24, 4),
      body: expect.stringContaining('sendAtLocal'),
    });
  });

  it('has it read at once if it has come there', () => {
    for (const sendAtLocal of ['2026-12-02T02:00', '2020-01-01T00:00:30', null, undefined]) {
      expect(read({ sendAtLocal })).toMatchObject({ sendAtMs: undefined });
    }
  });

  for (const [fields, fault] of [
    [
      { sendAtLocal: '2026-12-24' },
      'must be a time without an offset, for example 2030-01-31T18:00',
    ],
    [{ sendAtLocal: 7 }, 'must be a time without an offset, for example 2030-01-31T18:00'],
    [{ sendAtLocal: '2027-01-01T02:01' }, 'must be at most 30 days ahead'],
    [
      { sendAtLocal: '2026-12-24T18:00', sendAt: '2026-12-24T18:00:00Z' },
      'cannot be used with sendAt',
    ],
    [{ sendAtLocal: '2026-12-24T18:00', live: {} }, 'cannot be used with live'],
  ] as const) {
    it(`is refused: ${fault}`, () => expect(read(fields)).toBe(`\`sendAtLocal\`: ${fault}`));
  }
});

describe('urgent', () => {
  it('is true or false', () => {
    for (const urgent of [true, false, null]) expect(read({ urgent })).toBeObject();
    for (const urgent of [1, 'yes', {}]) {
      expect(read({ urgent })).toBe('`urgent`: must be true or false');
    }
  });
});
