import { signal } from '@preact/signals';

/** What the form of Send begins with: the last thing typed, or a record to send again. */
export const sendDraft = signal({
  channel: 'my-channel',
  event: 'my-event',
  data: '{"message":"hello"}',
});

/** The channels that were typed, with commas between them. */
export function channelsIn(typed: string): string[] {
  return typed
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}
