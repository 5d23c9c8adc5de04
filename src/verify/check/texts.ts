import { Ints, NONE } from './lists.ts';

/** Finds numbers from 0 on by their hashes: a table with open addressing, of which at most three quarters are full. */
export class HashTable {
  private slots = new Int32Array(1024).fill(NONE);
  private size = 0;
  private readonly hashOf: (number: number) => number;

  /** `hashOf`: the hash with which a number was added. */
  constructor(hashOf: (number: number) => number) {
    this.hashOf = hashOf;
  }

  /** The number with a hash that is the right one, or `NONE`. */
  find(hash: number, isRight: (number: number) => boolean): number {
    for (let slot = hash; ; slot++) {
      const number = this.slots[slot & (this.slots.length - 1)] ?? NONE;
      if (number === NONE || isRight(number)) return number;
    }
  }

  add(number: number): void {
    if (4 * ++this.size > 3 * this.slots.length) {
      const before = this.slots;
      this.slots = new Int32Array(2 * before.length).fill(NONE);
      for (const known of before) if (known !== NONE) this.put(known);
    }
    this.put(number);
  }

  private put(number: number): void {
    const mask = this.slots.length - 1;
    let slot = this.hashOf(number) & mask;
    while (this.slots[slot] !== NONE) slot = (slot + 1) & mask;
    this.slots[slot] = number;
  }
}

/** Numbers different texts from 0 on. Takes 24 bytes for each and 2 for a character, a tenth of what a `Map` takes. */
export class Texts {
  private characters = new Uint16Array(1024);
  /** Where each text begins, and the last one ends. */
  private readonly starts = new Ints();
  private readonly hashes = new Ints();
  private readonly table = new HashTable((number) => this.hashes.get(number));

  constructor() {
    this.starts.push(0);
  }

  get size(): number {
    return this.hashes.length;
  }

  text(number: number): string {
    const [start, end] = [this.starts.get(number), this.starts.get(number + 1)];
    return String.fromCharCode(...this.characters.subarray(start, end));
  }

  /** The number of a text, or `NONE`. */
  find(text: string, hash = hashOf(text)): number {
    return this.table.find(hash, (number) => this.is(number, text));
  }

  /** The number of a text, which is a new one if there was none. */
  add(text: string): number {
    const hash = hashOf(text);
    const known = this.find(text, hash);
    if (known !== NONE) return known;
    const number = this.size;
    const start = this.starts.get(number);
    const end = start + text.length;
    if (end > this.characters.length) {
      this.characters = new Uint16Array(this.characters.buffer.transfer(4 * end));
    }
    for (let at = 0; at < text.length; at++) this.characters[start + at] = text.charCodeAt(at);
    this.starts.push(end);
    this.hashes.push(hash);
    this.table.add(number);
    return number;
  }

  private is(number: number, text: string): boolean {
    const start = this.starts.get(number);
    if (this.starts.get(number + 1) - start !== text.length) return false;
    for (let at = 0; at < text.length; at++) {
      if (this.characters[start + at] !== text.charCodeAt(at)) return false;
    }
    return true;
  }
}

/** FNV-1a, mixed once more, so that its bits do not depend on each other. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
