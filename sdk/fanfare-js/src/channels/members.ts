/** One member of a presence channel. */
export interface Member {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the backend has written
  readonly info: any;
}

interface MemberData {
  readonly user_id: string;
  readonly user_info?: unknown;
}

/** Who is in a presence channel. */
export default class Members {
  members: Record<string, unknown> = {};
  count = 0;
  myID: string | null = null;
  me: Member | null = null;

  get(id: string | null): Member | null {
    return id !== null && Object.hasOwn(this.members, id) ? { id, info: this.members[id] } : null;
  }

  each(callback: (member: Member) => void): void {
    for (const id of Object.keys(this.members)) callback(this.get(id) as Member);
  }

  setMyID(id: string): void {
    this.myID = id;
  }

  onSubscription(data: {
    readonly presence?: { readonly hash?: Record<string, unknown>; readonly count?: number };
  }): void {
    const { hash = {}, count = 0 } = data?.presence ?? {};
    this.members = hash;
    this.count = count;
    this.me = this.get(this.myID);
  }

  addMember({ user_id, user_info }: MemberData): Member | null {
    if (!this.get(user_id)) this.count++;
    this.members[user_id] = user_info;
    return this.get(user_id);
  }

  removeMember({ user_id }: MemberData): Member | null {
    const member = this.get(user_id);
    if (member) {
      delete this.members[user_id];
      this.count--;
    }
    return member;
  }

  reset(): void {
    Object.assign(this, new Members());
  }
}
