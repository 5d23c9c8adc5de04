/** A value of Lua. Texts hold one byte in each character; `undefined` is nil; several results of a function are an array. */
export type LuaValue = string | number | boolean | undefined | LuaTable | LuaFunction;

export type LuaFunction = (...args: LuaValue[]) => LuaValue | readonly LuaValue[];

/** A table. Unlike that of Lua, it gives its fields in the order in which they were set. */
export class LuaTable {
  /** The values from index 1 on, up to the first nil. */
  readonly items: LuaValue[] = [];
  private fields: Map<LuaValue, LuaValue> | undefined;

  static ofItems(items: readonly LuaValue[]): LuaTable {
    const table = new LuaTable();
    for (let at = 0; at < items.length; at += 1) table.set(at + 1, items[at]);
    return table;
  }

  static ofFields(fields: Readonly<Record<string, LuaValue>>): LuaTable {
    const table = new LuaTable();
    for (const name of Object.keys(fields)) table.set(name, fields[name]);
    return table;
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === 'number' && key >= 1 && key <= this.items.length) {
      if (Number.isInteger(key)) return this.items[key - 1];
    }
    return this.fields?.get(key);
  }

  set(key: LuaValue, value: LuaValue): void {
    const { items } = this;
    if (typeof key === 'number' && key >= 1 && key <= items.length && Number.isInteger(key)) {
      if (value === undefined) this.cutAt(key);
      else items[key - 1] = value;
      return;
    }
    if (value === undefined) {
      this.fields?.delete(key);
      return;
    }
    if (key !== items.length + 1) {
      if (key === undefined) throw new Error('a script has used nil as a key');
      this.fields ??= new Map();
      this.fields.set(key, value);
      return;
    }
    items.push(value);
    if (this.fields !== undefined) this.takeFollowing(this.fields);
  }

  /** Keys with their values: first the items, then the fields. */
  pairs(): readonly (readonly [LuaValue, LuaValue])[] {
    const items = this.items.map((value, at) => [at + 1, value] as const);
    return this.fields === undefined ? items : [...items, ...this.fields];
  }

  /** The item at an index is nil from now on. */
  private cutAt(index: number): void {
    const [, ...following] = this.items.splice(index - 1);
    for (const [at, value] of following.entries()) this.set(index + 1 + at, value);
  }

  private takeFollowing(fields: Map<LuaValue, LuaValue>): void {
    for (;;) {
      const index = this.items.length + 1;
      const value = fields.get(index);
      if (value === undefined) return;
      fields.delete(index);
      this.items.push(value);
    }
  }
}
