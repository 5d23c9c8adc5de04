import type { App, PushRule } from '../app.ts';
import type { ChannelText } from '../channel-name.ts';
import { fitsChannel } from '../channel-pattern.ts';

/** An event that rules may turn into notifications. */
export interface RuleEvent {
  readonly appId: string;
  readonly channel: ChannelText;
  readonly name: string;
  /** As subscribers get it. */
  readonly data: string;
  /** Names the event for repetitions of the request. */
  readonly idempotencyKey: string | undefined;
}

/** Takes events of apps that have rules. */
export interface RuleEventSink {
  note(app: App, event: RuleEvent): void;
}

/** The rules of an app that an event fits. */
export function pushRulesFor(
  { pushRules }: Pick<App, 'pushRules'>,
  { channel, name }: Pick<RuleEvent, 'channel' | 'name'>,
): readonly PushRule[] {
  return pushRules.filter(
    ({ channels, events }) => fitsChannel(channels, channel) && events.includes(name),
  );
}

/** The interest of a rule for a channel that fits it. */
export function interestFor({ channels, interest = '' }: PushRule, channel: ChannelText): string {
  const matched = channels.endsWith('*') ? channel.slice(channels.length - 1) : '';
  return interest.replaceAll('*', () => matched);
}
