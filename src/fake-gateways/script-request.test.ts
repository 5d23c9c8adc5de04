import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { readScriptRequest } from './script-request.ts';

describe('a request to script a fault', () => {
  it('may set a latency', () => {
    expect(readScriptRequest({ gateway: 'fcm', latencyMs: 500 })).toEqual({
      what: 'latency',
      gateway: 'fcm',
      latencyMs: 500,
    });
  });

  it('may request an error, in the form of each gateway', () => {
    const read = (gateway: string, status: number, error: string) => {
      const request = readScriptRequest({ gateway, status, error });
      if (typeof request === 'string' || request.what !== 'act') throw new Error('no act');
      const { act } = request;
      return act.act === 'answer' && [act.status, JSON.parse(act.body ?? '')];
    };
    expect(read('apns', 410, 'Unregistered')).toEqual([410, { reason: 'Unregistered' }]);
    expect(read('web', 410, 'Gone')).toEqual([410, { message: 'Gone' }]);
    expect(read('fcm', 404, 'UNREGISTERED')).toEqual([
      404,
      {
        error: {
          code: 404,
          message: '',
          status: 'NOT_FOUND',
          details: [
            {
              '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
              errorCode: 'UNREGISTERED',
            },
          ],
        },
      },
    ]);
  });

  it('may request any answer, for one device and a number of times', () => {
    expect(
      readScriptRequest({
        gateway: 'web',
        to: 'https://127.0.0.1:6013/wpush/v2/a',
        times: 3,
        status: 429,
        headers: { 'retry-after': '30' },
        body: { errno: 201 },
      }),
    ).toEqual({
      what: 'act',
      gateway: 'web',
      to: 'https://127.0.0.1:6013/wpush/v2/a',
      times: 3,
      act: {
        act: 'answer',
        status: 429,
        fields: { 'retry-after': '30' },
        body: '{"errno":201}',
      },
    });
  });

  it('may request no answer', () => {
    expect(readScriptRequest({ gateway: 'apns', act: 'cut', to: null })).toEqual({
      what: 'act',
      gateway: 'apns',
      to: undefined,
      times: undefined,
      act: { act: 'cut' },
    });
  });

  it('is read or refused with a reason, for any JSON', () => {
    const names = ['gateway', 'to', 'times', 'latencyMs', 'act', 'status', 'error', 'headers'];
    const values = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('fcm', 'web', 'answer', 'hang', 404, 1),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names, 'body'), values), (given) => {
        const read = readScriptRequest(given);
        if (typeof read === 'string') expect(read).not.toBe('');
      }),
    );
  });
});
