/** The end of an event's frame: its id. Inside `data` every quote is escaped, so no event can forge it. */
const ID_AT_END = /,"id":"([^"]+)"}$/;

/** No id is longer, with its quotes and its name. */
const END_CHARACTERS = 64;

/** As many as the server looks at. */
const SOCKET_IDS_MAX = 100;

/** Lets pusher-js go on where it was: after a reconnect, each channel gets what it missed, once and in order. */
export function resume(pusher, { after = {}, onGap } = {}) {
  const { connection, send_event: send, unsubscribe } = pusher;

  /**
   * By channel: the id of the last event that its handlers got, how many missed events are still to come, the id up to which
   * these reach, and the ids that the socket has had meanwhile. Events that exclude one of these sockets are not for this client.
   */
  const places = new Map();
  const add = (name, id) => {
    const place = { id, missed: 0, sockets: [] };
    places.set(name, place);
    return place;
  };
  for (const name of Object.keys(after)) if (after[name]) add(name, after[name]);

  const reach = (place, id) => {
    place.id = id;
    // An event that excludes an earlier socket may be among the missed ones, so all of them must arrive first.
    if (!place.missed) place.sockets = [connection.socket_id];
  };

  /** Undefined in a version of pusher-js that keeps its transport elsewhere: then nothing is changed. */
  const transportNow = () => connection.connection?.transport;

  pusher.send_event = function (event, data, channel) {
    let sent = data;
    if (event === 'pusher:subscribe' && transportNow()) {
      const { id, sockets } = places.get(data.channel) ?? add(data.channel, '');
      sent = { ...data, resume_after_id: id, resume_socket_ids: sockets };
    }
    return send.call(this, event, sent, channel);
  };

  pusher.unsubscribe = function (name) {
    places.delete(name);
    return unsubscribe.call(this, name);
  };

  const gap = (name) => {
    pusher.channel(name)?.emit('fanfare:gap');
    onGap?.(name);
  };

  /** A subscription was confirmed. */
  const confirmed = (name, resumed) => {
    // The channel is unknown to pusher-js if it was unsubscribed meanwhile. The channel of a user always is.
    const place = places.get(name) ?? (pusher.channel(name) && add(name, ''));
    if (!place) return;
    const { id } = place;
    place.missed = resumed?.ok ? resumed.missed : 0;
    // The missed events follow, and bring their own ids.
    place.upTo = resumed?.id ?? '';
    if (!place.missed) reach(place, place.upTo);
    if (id && !resumed?.ok) gap(name);
  };

  /** The channel of the frame that pusher-js has just handed to its handlers. */
  let handled;
  // Bound after the handler of pusher-js: the channel's own handlers have run.
  connection.bind('message', ({ event, channel, data }) => {
    handled = channel;
    if (event === 'pusher_internal:subscription_succeeded') confirmed(channel, data?.resume);
  });

  const listen = () => {
    if (connection.state !== 'connected') return;
    for (const place of places.values()) {
      place.sockets = [...place.sockets, connection.socket_id].slice(-SOCKET_IDS_MAX);
    }
    handled = undefined;
    transportNow()?.bind('message', ({ data }) => {
      // Unknown if no handler got the frame, as after `disconnect()`.
      const place = places.get(handled);
      handled = undefined;
      const id = place && ID_AT_END.exec(data.slice(-END_CHARACTERS))?.[1];
      if (!id) return;
      // After the last missed event, there may be others that exclude an earlier socket.
      const isLast = place.missed > 0 && --place.missed === 0;
      reach(place, isLast ? place.upTo : id);
    });
  };
  // Emitted before `connected`, on which pusher-js subscribes.
  connection.bind('state_change', listen);
  listen();

  return {
    places: () =>
      Object.fromEntries(Array.from(places, ([name, { id }]) => [name, id]).filter(([, id]) => id)),
  };
}
