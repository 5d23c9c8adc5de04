import type { App, PushRule } from '../app.ts';
import type { ChannelText } from '../channel-name.ts';
import { fitsChannel } from '../channel-pattern.ts';

/** An event that may match push rules. */
export interface RuleEvent {
  readonly appId: string;
  readonly channel: ChannelText;
  readonly name: string;
  /** As subscribers receive it. */
  readonly data: string;
  /** The idempotency key of the event. */
  readonly idempotencyKey: string | undefined;
}

/** Handles events of apps with push rules. */
export interface RuleEventSink {
  note(app: App, event: RuleEvent): void;
}

/** The rules of an app that match an event. */
export function pushRulesFor(
  { pushRules }: Pick<App, 'pushRules'>,
  { channel, name }: Pick<RuleEvent, 'channel' | 'name'>,
): readonly PushRule[] {
  return pushRules.filter(
    ({ channels, events }) => fitsChannel(channels, channel) && events.includes(name),
  );
}

/** The interest that a rule makes of a matching channel. */
export function interestFor({ channels, interest = '' }: PushRule, channel: ChannelText): string {
  const matched = channels.endsWith('*') ? channel.slice(channels.length - 1) : '';
  return interest.replaceAll('*', () => matched);
}
