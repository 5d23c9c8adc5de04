import { ROOM } from './seating.ts';

/** Where the text of a user's number begins in a message about one member. */
const USER = /\\?"user_id\\?"\s*:\s*\\?"(\d+)\\?"/;

/**
 * The lists of members that clients of presence channels have. A list is known by the number and the sum of its users,
 * whose ids are numbers; a wrong one with both right would be a great chance.
 */
export class Rosters {
  readonly #counts: Uint16Array;
  readonly #sums: Float64Array;
  readonly #isRight: Uint8Array;
  readonly #size: number;
  #right = 0;

  /** Takes the number of clients. */
  constructor(size: number) {
    this.#size = size;
    this.#counts = new Uint16Array(size);
    this.#sums = new Float64Array(size);
    this.#isRight = new Uint8Array(size);
  }

  /** Clients with exactly the members of their channel, all of which are to be there. */
  get rightCount(): number {
    return this.#right;
  }

  /** Takes the text of a confirmed subscription. */
  begin(client: number, text: string): void {
    const { data }: { data: string } = JSON.parse(text);
    const { presence }: { presence: { ids: string[] } } = JSON.parse(data);
    this.#counts[client] = presence.ids.length;
    this.#sums[client] = presence.ids.reduce((sum, id) => sum + Number(id), 0);
    this.#judge(client);
  }

  /** Takes the text of a member that came or left. */
  change(client: number, text: string): void {
    const user = USER.exec(text)?.[1];
    if (user === undefined) throw new Error(`no user in ${text}`);
    const sign = text.includes('"pusher_internal:member_added"') ? 1 : -1;
    this.#counts[client] = (this.#counts[client] ?? 0) + sign;
    this.#sums[client] = (this.#sums[client] ?? 0) + sign * Number(user);
    this.#judge(client);
  }

  /** The client is not connected. */
  forget(client: number): void {
    this.#counts[client] = 0;
    this.#sums[client] = 0;
    this.#judge(client);
  }

  #judge(client: number): void {
    const first = client - (client % ROOM);
    const count = Math.min(ROOM, this.#size - first);
    const sum = count * first + (count * (count - 1)) / 2;
    const isRight = this.#counts[client] === count && this.#sums[client] === sum;
    this.#right += Number(isRight) - (this.#isRight[client] ?? 0);
    this.#isRight[client] = Number(isRight);
  }
}
