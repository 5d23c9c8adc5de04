import { signal } from '@preact/signals';

/** What the form of Send begins with: the last thing typed, or a record to send again. */
export const sendDraft = signal({
  channel: 'my-channel',
  event: 'my-event',
  data: '{"message":"hello"}',
});
