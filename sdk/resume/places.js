/** As many as the server looks at. */
const SOCKET_IDS_MAX = 100;

/**
 * How far a client has come in each channel. A place is: the id of the last event that the channel's handlers got, how many
 * missed events are still to come, the id up to which these reach, and the ids that the socket has had meanwhile. Events that
 * exclude one of these sockets are not for this client.
 */
export class Places {
  constructor(after = {}) {
    this.socketId = undefined;
    this.all = new Map();
    for (const name of Object.keys(after)) if (after[name]) this.add(name, after[name]);
  }

  add(name, id) {
    const place = { id, missed: 0, sockets: [], upTo: '' };
    this.all.set(name, place);
    return place;
  }

  forget(name) {
    this.all.delete(name);
  }

  /** There is a new connection. */
  connected(socketId) {
    this.socketId = socketId;
    for (const place of this.all.values()) {
      place.sockets = [...place.sockets, socketId].slice(-SOCKET_IDS_MAX);
    }
  }

  /** What to say with the subscription of a channel. */
  fieldsOf(name) {
    const { id, sockets } = this.all.get(name) ?? this.add(name, '');
    return { resume_after_id: id, resume_socket_ids: sockets };
  }

  /** Takes what the server says about resuming when it confirms a subscription; `true`: more was missed than it keeps. */
  confirmed(name, resumed) {
    const place = this.all.get(name) ?? this.add(name, '');
    const { id } = place;
    place.missed = resumed?.ok ? resumed.missed : 0;
    // The missed events follow, and bring their own ids.
    place.upTo = resumed?.id ?? '';
    if (!place.missed) this.reach(place, place.upTo);
    return id !== '' && !resumed?.ok;
  }

  /** The handlers of a channel have run for the event with this id. */
  handled(name, id) {
    const place = this.all.get(name);
    if (!place || !id) return;
    // After the last missed event, there may be others that exclude an earlier socket.
    const isLast = place.missed > 0 && --place.missed === 0;
    this.reach(place, isLast ? place.upTo : id);
  }

  reach(place, id) {
    place.id = id;
    // An event that excludes an earlier socket may be among the missed ones, so all of them must arrive first.
    if (!place.missed) place.sockets = [this.socketId];
  }

  /** By channel, the id of the last event that its handlers got. */
  ids() {
    const ids = {};
    for (const [name, { id }] of this.all) if (id) ids[name] = id;
    return ids;
  }
}
