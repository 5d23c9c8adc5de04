import type { Resumption } from '../../doctor/client/client-messages.ts';

/** The server looks at as many. */
const SOCKETS_MAX = 100;

/** How far a client that resumes has come in a channel, as `sdk/resume` counts it. */
export class Place {
  /** The last event that it has; `''`: none yet. */
  id = '';
  /** Its sockets since then: events that exclude one of them are not for it. */
  sockets: readonly string[] = [];
  private missed = 0;
  private upTo = '';

  connected(socket: string): void {
    this.sockets = [...this.sockets, socket].slice(-SOCKETS_MAX);
  }

  confirmed(resume: Resumption | undefined, socket: string): void {
    this.missed = resume?.ok === true ? resume.missed : 0;
    this.upTo = resume?.id ?? '';
    if (this.missed === 0) this.reach(this.upTo, socket);
  }

  received(id: string, socket: string): void {
    const isLast = this.missed > 0 && --this.missed === 0;
    this.reach(isLast ? this.upTo : id, socket);
  }

  private reach(id: string, socket: string): void {
    this.id = id;
    // An event that excludes an earlier socket may be among the missed ones, so all of them must come first.
    if (this.missed === 0) this.sockets = [socket];
  }
}
