import { Places } from './places.js';

/** The end of an event's frame: its id. Inside `data` every quote is escaped, so no event can forge it. */
const ID_AT_END = /,"id":"([^"]+)"}$/;

/** No id is longer, with its quotes and its name. */
const END_CHARACTERS = 64;

/** Lets pusher-js go on where it was: after a reconnect, each channel gets what it missed, once and in order. */
export function resume(pusher, { after = {}, onGap } = {}) {
  const { connection, resumption, send_event: send, unsubscribe } = pusher;
  // `fanfare-js` resumes by itself.
  if (resumption) return report(resumption, after, onGap);
  const places = new Places(after);

  /** Undefined in a version of pusher-js that keeps its transport elsewhere: then nothing is changed. */
  const transportNow = () => connection.connection?.transport;

  pusher.send_event = function (event, data, channel) {
    const isSubscribing = event === 'pusher:subscribe' && transportNow();
    const sent = isSubscribing ? { ...data, ...places.fieldsOf(data.channel) } : data;
    return send.call(this, event, sent, channel);
  };

  pusher.unsubscribe = function (name) {
    places.forget(name);
    return unsubscribe.call(this, name);
  };

  const gap = (name) => {
    pusher.channel(name)?.emit('fanfare:gap');
    onGap?.(name);
  };

  /** The channel of the frame that pusher-js has just handed to its handlers. */
  let handled;
  // Bound after the handler of pusher-js: the channel's own handlers have run.
  connection.bind('message', ({ event, channel, data }) => {
    handled = channel;
    if (event !== 'pusher_internal:subscription_succeeded') return;
    // The channel is unknown to pusher-js if it was unsubscribed meanwhile. The channel of a user always is.
    const isKnown = places.all.has(channel) || pusher.channel(channel);
    if (isKnown && places.confirmed(channel, data?.resume)) gap(channel);
  });

  const listen = () => {
    if (connection.state !== 'connected') return;
    places.connected(connection.socket_id);
    handled = undefined;
    transportNow()?.bind('message', ({ data }) => {
      // Undefined if no handler got the frame, as after `disconnect()`.
      places.handled(handled, ID_AT_END.exec(data.slice(-END_CHARACTERS))?.[1]);
      handled = undefined;
    });
  };
  // Emitted before `connected`, on which pusher-js subscribes.
  connection.bind('state_change', listen);
  listen();

  return { places: () => places.ids() };
}

/** Gives the places of a client that resumes by itself to an application that has the plugin still. */
function report(places, after, onGap) {
  for (const name of Object.keys(after)) if (after[name]) places.add(name, after[name]);
  const { confirmed } = places;
  places.confirmed = (name, resumed) => {
    const isGap = confirmed.call(places, name, resumed);
    if (isGap) onGap?.(name);
    return isGap;
  };
  return { places: () => places.ids() };
}
