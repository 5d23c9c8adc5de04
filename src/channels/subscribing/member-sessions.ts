import type { Topic } from '../event.ts';
import type { Session } from './session.ts';

/** The connections of this loop in presence channels, by channel and member. Most members have one connection. */
export class MemberSessions {
  private readonly byTopic = new Map<Topic, Map<string, Session | Set<Session>>>();

  add(topic: Topic, userId: string, session: Session): void {
    const members = this.byTopic.getOrInsertComputed(topic, () => new Map());
    const others = members.get(userId);
    if (others === undefined) members.set(userId, session);
    else if (others instanceof Set) others.add(session);
    else if (others !== session) members.set(userId, new Set([others, session]));
  }

  remove(topic: Topic, userId: string, session: Session): void {
    const members = this.byTopic.get(topic);
    const sessions = members?.get(userId);
    if (members === undefined || sessions === undefined) return;
    if (sessions instanceof Set) {
      sessions.delete(session);
      if (sessions.size > 0) return;
    } else if (sessions !== session) return;
    members.delete(userId);
    if (members.size === 0) this.byTopic.delete(topic);
  }

  of(topic: Topic, userId: string): readonly Session[] {
    const sessions = this.byTopic.get(topic)?.get(userId);
    if (sessions === undefined) return [];
    return sessions instanceof Set ? [...sessions] : [sessions];
  }

  /** Channels with members here. */
  get size(): number {
    return this.byTopic.size;
  }
}
