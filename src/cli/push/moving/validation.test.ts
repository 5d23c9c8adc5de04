import { expect, it } from 'bun:test';
import { PushRefusal } from '../../../push/refusal.ts';
import { readPublishRequest } from '../../../push/requests/publish-request.ts';
import { interestOf, validationOf } from './validation.ts';

it('checks tokens at 200 per second, in words that a server takes', () => {
  const publish = validationOf(interestOf('onesignal-1'));
  expect(publish).toEqual({
    interests: ['import-onesignal-1'],
    perSecond: 200,
    fcm: { validate_only: true, data: { import: 'import-onesignal-1' } },
  });
  const body = Buffer.from(JSON.stringify(publish));
  const context = { instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781', nowMs: 0 };
  expect(readPublishRequest('interests', body, context)).not.toBeInstanceOf(PushRefusal);
});
