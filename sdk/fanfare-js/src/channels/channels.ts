import { BadChannelName, UnsupportedFeature } from '../errors.ts';
import type { Config } from '../options.ts';
import Channel from './channel.ts';
import type { ChannelOwner } from './channel-owner.ts';
import EncryptedChannel from './encrypted-channel.ts';
import PresenceChannel from './presence-channel.ts';
import PrivateChannel from './private-channel.ts';

interface ChannelsOwner extends ChannelOwner {
  readonly config: Config;
}

function channelOf(name: string, pusher: ChannelsOwner): Channel {
  if (name.startsWith('private-encrypted-')) {
    const { nacl } = pusher.config;
    if (nacl) return new EncryptedChannel(name, pusher, nacl);
    throw new UnsupportedFeature(
      'Tried to subscribe to a private-encrypted- channel but no nacl implementation available',
    );
  }
  if (name.startsWith('#')) {
    throw new BadChannelName(`Cannot create a channel with name "${name}".`);
  }
  const kind = name.startsWith('private-')
    ? PrivateChannel
    : name.startsWith('presence-')
      ? PresenceChannel
      : Channel;
  return new kind(name, pusher);
}

/** The channels that the application has subscribed to, by name. */
export default class Channels {
  /** Without a prototype: a channel may be called `constructor`. */
  channels: Record<string, Channel> = Object.create(null);

  add(name: string, pusher: ChannelsOwner): Channel {
    this.channels[name] ??= channelOf(name, pusher);
    return this.channels[name];
  }

  all(): Channel[] {
    return Object.values(this.channels);
  }

  find(name: string): Channel | undefined {
    return this.channels[name];
  }

  remove(name: string): Channel | undefined {
    const channel = this.channels[name];
    delete this.channels[name];
    return channel;
  }

  disconnect(): void {
    for (const channel of this.all()) channel.disconnect();
  }
}
