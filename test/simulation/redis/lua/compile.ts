import { operators } from './operators.ts';
import type { LuaFunction } from './table.ts';
import { type Token, tokensOf, unreadable } from './tokens.ts';

/** A compiled script: makes its body, which takes `KEYS` and `ARGV`, out of what the script can use. */
export type Compiled = (globals: Readonly<Record<string, unknown>>) => LuaFunction;

/** Compiles a script to JavaScript, as far as scripts of the engine use Lua. Throws if one uses more. */
export function compile(source: string): Compiled {
  const { body, used } = new Compiler(tokensOf(source)).program();
  const names = Object.keys(operators);
  const globals = used.map((name) => {
    const [of = '', field] = name.split('$');
    const value = `globals[${JSON.stringify(of)}]`;
    return `const ${name} = ${field === undefined ? value : `index(${value}, ${JSON.stringify(field)})`};`;
  });
  const code = `return (globals) => { ${globals.join(' ')} return (KEYS, ARGV) => {\n${body} }; };`;
  const make = new Function(...names, code);
  return make(...Object.values(operators)) as Compiled;
}

/** An expression in JavaScript. */
interface Expression {
  readonly code: string;
  /** `results`: a call, which may have several results or none. */
  readonly is: 'value' | 'boolean' | 'number' | 'text' | 'results' | 'varargs';
}

/** By operator: how strongly it binds what is left and right of it. */
const BINDS: Readonly<Record<string, readonly [left: number, right: number]>> = {
  or: [1, 1],
  and: [2, 2],
  ...Object.fromEntries(['<', '>', '<=', '>=', '~=', '=='].map((sign) => [sign, [3, 3]])),
  '..': [5, 4],
  '+': [6, 6],
  '-': [6, 6],
  '*': [7, 7],
  '/': [7, 7],
  '%': [7, 7],
};
const UNARY = 8;
const BLOCK_ENDS = ['end', 'else', 'elseif'];

/** Reads tokens, and writes JavaScript. Each local variable has a name of its own there. */
class Compiler {
  private readonly tokens: readonly Token[];
  private at = 0;
  private made = 0;
  private scopes: Map<string, string>[] = [];
  private readonly used = new Set<string>();

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  program(): { readonly body: string; readonly used: readonly string[] } {
    const body = this.block();
    if (this.token.kind !== 'end') throw this.unreadable();
    return { body: `let $; ${body}`, used: [...this.used] };
  }

  private get token(): Token {
    const token = this.tokens[this.at];
    if (token === undefined) throw new Error('a script has no end');
    return token;
  }

  private unreadable(): Error {
    return unreadable(this.token.line, this.token.text);
  }

  private is(text: string): boolean {
    const { kind, text: found } = this.token;
    return found === text && (kind === 'word' || kind === 'sign');
  }

  private takes(text: string): boolean {
    if (!this.is(text)) return false;
    this.at += 1;
    return true;
  }

  private expect(text: string): void {
    if (!this.takes(text)) throw this.unreadable();
  }

  private name(): string {
    const { kind, text } = this.token;
    if (kind !== 'name') throw this.unreadable();
    this.at += 1;
    return text;
  }

  private fresh(name: string): string {
    this.made += 1;
    return `${name}$${this.made}`;
  }

  private declare(name: string): string {
    const own = this.fresh(name);
    this.scopes.at(-1)?.set(name, own);
    return own;
  }

  private local(name: string): string | undefined {
    for (let at = this.scopes.length - 1; at >= 0; at -= 1) {
      const own = this.scopes[at]?.get(name);
      if (own !== undefined) return own;
    }
    return undefined;
  }

  private variable(name: string): string {
    const own = this.local(name);
    if (own !== undefined) return own;
    if (name !== 'KEYS' && name !== 'ARGV') this.used.add(name);
    return name;
  }

  /** Statements up to a word that ends them. `names` are declared first: they are written to the second place. */
  private block(names: readonly string[] = [], own: string[] = []): string {
    this.scopes.push(new Map());
    for (const name of names) own.push(this.declare(name));
    let code = '';
    while (!BLOCK_ENDS.some((word) => this.is(word))) {
      if (this.token.kind === 'end') break;
      code += `${this.statement()}\n`;
    }
    this.scopes.pop();
    return code;
  }

  private statement(): string {
    if (this.takes('local')) return this.takes('function') ? this.localFunction() : this.locals();
    if (this.takes('if')) return this.conditional();
    if (this.takes('for')) return this.loop();
    if (this.takes('return')) return this.result();
    if (this.takes('break')) return 'break;';
    if (this.takes('while')) {
      const condition = this.condition();
      return `while (${condition}) ${this.body('do')}`;
    }
    if (this.takes('do')) {
      this.at -= 1;
      return this.body('do');
    }
    if (this.takes('function')) {
      const own = this.local(this.name());
      if (own === undefined) throw this.unreadable();
      return `${own} = ${this.functionBody()};`;
    }
    return this.assignment();
  }

  /** Statements between a word and `end`. */
  private body(begins: string, names: readonly string[] = [], own: string[] = []): string {
    this.expect(begins);
    const code = this.block(names, own);
    this.expect('end');
    return `{\n${code}}`;
  }

  private localFunction(): string {
    const own = this.declare(this.name());
    return `const ${own} = ${this.functionBody()};`;
  }

  private locals(): string {
    const names = [this.name()];
    while (this.takes(',')) names.push(this.name());
    const values = this.takes('=') ? this.expressions() : [];
    const own = names.map((name) => this.declare(name));
    return this.assigned(own, values, (target, value) => `let ${target} = ${value};`);
  }

  private assignment(): string {
    const targets = [this.suffixed()];
    if (!this.is('=') && !this.is(',')) {
      const [call] = targets;
      if (call?.is !== 'results') throw this.unreadable();
      return `${call.code};`;
    }
    while (this.takes(',')) targets.push(this.suffixed());
    this.expect('=');
    const values = this.expressions();
    const set = ({ code }: Expression, value: string) =>
      code.startsWith('index(')
        ? `put(${code.slice('index('.length, -1)}, ${value});`
        : `${code} = ${value};`;
    for (const { is, code } of targets) {
      // Redis lets no script write to a global variable.
      if (is !== 'value' || this.used.has(code)) throw this.unreadable();
    }
    const [only] = targets;
    if (only !== undefined && targets.length === 1) {
      return this.assigned([only], values, set);
    }
    const kept = targets.map(() => this.fresh('kept'));
    const keep = this.assigned(kept, values, (name, value) => `const ${name} = ${value};`);
    return `{ ${keep} ${targets.map((target, at) => set(target, kept[at] ?? '')).join(' ')} }`;
  }

  /** Gives values to targets, as many as there are. */
  private assigned<Target>(
    targets: readonly Target[],
    values: readonly Expression[],
    set: (target: Target, value: string) => string,
  ): string {
    const last = values.at(-1);
    const isOpen = last?.is === 'results' || last?.is === 'varargs';
    if (!isOpen || last === undefined || values.length >= targets.length) {
      const extra = values.slice(targets.length).map((value) => `${value.code};`);
      const code = targets.map((target, at) => {
        const value = values[at];
        return set(target, value === undefined ? 'undefined' : singleOf(value));
      });
      return [...code, ...extra].join(' ');
    }
    const before = values.slice(0, -1);
    const code = targets.map((target, at) => {
      const value = before[at];
      return set(target, value === undefined ? `$[${at - before.length}]` : singleOf(value));
    });
    const list = last.is === 'varargs' ? '$varargs' : `all(${last.code})`;
    return [...code.slice(0, before.length), `$ = ${list};`, ...code.slice(before.length)].join(
      ' ',
    );
  }

  private conditional(): string {
    const condition = this.condition();
    this.expect('then');
    const code = `if (${condition}) {\n${this.block()}}`;
    if (this.takes('elseif')) return `${code} else { ${this.conditional()} }`;
    if (this.takes('else')) {
      const other = this.block();
      this.expect('end');
      return `${code} else {\n${other}}`;
    }
    this.expect('end');
    return code;
  }

  private loop(): string {
    const names = [this.name()];
    while (this.takes(',')) names.push(this.name());
    const own: string[] = [];
    if (this.takes('=')) return this.counted(names);
    this.expect('in');
    const kind = this.name();
    if ((kind !== 'ipairs' && kind !== 'pairs') || this.local(kind) !== undefined) {
      throw this.unreadable();
    }
    this.expect('(');
    const table = singleOf(this.expression());
    this.expect(')');
    const body = this.body('do', names, own);
    const [key, value = '$unused'] = own;
    if (kind === 'pairs') return `for (let [${key}, ${value}] of ${table}.pairs()) ${body}`;
    const [items, at] = [this.fresh('items'), this.fresh('at')];
    const head = `const ${items} = ${table}; for (let ${at} = 1; ; ${at} += 1)`;
    const next = `let ${key} = ${at}; let ${value} = index(${items}, ${at}); if (${value} === undefined) break;`;
    return `{ ${head} { ${next} ${body} } }`;
  }

  private counted(names: readonly string[]): string {
    const own: string[] = [];
    const first = numberOf(this.expression());
    this.expect(',');
    const last = numberOf(this.expression());
    const step = this.takes(',') ? numberOf(this.expression()) : '1';
    const body = this.body('do', names, own);
    const [at, end, by] = [this.fresh('at'), this.fresh('end'), this.fresh('by')];
    const head = `let ${at} = ${first}, ${end} = ${last}, ${by} = ${step}`;
    const test = `${by} > 0 ? ${at} <= ${end} : ${at} >= ${end}`;
    return `for (${head}; ${test}; ${at} += ${by}) { let ${own[0]} = ${at}; ${body} }`;
  }

  private result(): string {
    const ends = BLOCK_ENDS.some((word) => this.is(word));
    const values = ends || this.token.kind === 'end' ? [] : this.expressions();
    const [only] = values;
    if (only === undefined) return 'return;';
    if (values.length === 1) {
      return `return ${only.is === 'results' ? only.code : only.is === 'varargs' ? '$varargs' : singleOf(only)};`;
    }
    return `return [${listOf(values)}];`;
  }

  private functionBody(): string {
    const names: string[] = [];
    this.expect('(');
    let hasVarargs = false;
    while (!this.takes(')')) {
      if (this.takes('...')) hasVarargs = true;
      else names.push(this.name());
      if (!this.is(')')) this.expect(',');
    }
    const own: string[] = [];
    const body = this.block(names, own);
    this.expect('end');
    const parameters = hasVarargs ? [...own, '...$varargs'] : own;
    return `(${parameters.join(', ')}) => {\nlet $; ${body}}`;
  }

  private condition(): string {
    return truthOf(this.expression());
  }

  private expressions(): readonly Expression[] {
    const values = [this.expression()];
    while (this.takes(',')) values.push(this.expression());
    return values;
  }

  /** Reads an expression up to an operator that binds no stronger than a limit. */
  private expression(limit = 0): Expression {
    let left = this.unary();
    for (;;) {
      const { text, kind } = this.token;
      const binds = kind === 'sign' || kind === 'word' ? BINDS[text] : undefined;
      if (binds === undefined || binds[0] <= limit) return left;
      this.at += 1;
      left = binary(text, left, this.expression(binds[1]));
    }
  }

  private unary(): Expression {
    if (this.takes('not')) return { code: `!${truthOf(this.expression(UNARY))}`, is: 'boolean' };
    if (this.takes('#')) return { code: `size(${singleOf(this.expression(UNARY))})`, is: 'number' };
    if (this.takes('-')) return { code: `(-${numberOf(this.expression(UNARY))})`, is: 'number' };
    return this.simple();
  }

  private simple(): Expression {
    const { kind, text } = this.token;
    if (kind === 'number' || kind === 'text') {
      this.at += 1;
      return { code: kind === 'number' ? text : JSON.stringify(text), is: kind };
    }
    if (this.takes('nil')) return { code: 'undefined', is: 'value' };
    if (this.takes('true') || this.takes('false')) return { code: text, is: 'boolean' };
    if (this.takes('...')) return { code: '$varargs', is: 'varargs' };
    if (this.takes('function')) return { code: `(${this.functionBody()})`, is: 'value' };
    if (this.is('{')) return this.table();
    return this.suffixed();
  }

  private table(): Expression {
    const items: Expression[] = [];
    const fields: string[] = [];
    this.expect('{');
    while (!this.takes('}')) {
      const following = this.tokens[this.at + 1];
      if (this.token.kind === 'name' && following?.kind === 'sign' && following.text === '=') {
        const name = this.name();
        this.expect('=');
        fields.push(`${JSON.stringify(name)}: ${singleOf(this.expression())}`);
      } else if (this.is('[')) {
        throw this.unreadable();
      } else {
        items.push(this.expression());
      }
      if (!this.is('}')) this.expect(',');
    }
    if (fields.length === 0) return { code: `list([${listOf(items)}])`, is: 'value' };
    if (items.length > 0) throw this.unreadable();
    return { code: `record({${fields.join(', ')}})`, is: 'value' };
  }

  /** A variable with what follows it: fields, and calls. */
  private suffixed(): Expression {
    let found: Expression;
    if (this.takes('(')) {
      found = { code: `(${singleOf(this.expression())})`, is: 'value' };
      this.expect(')');
    } else {
      found = this.named(this.name());
    }
    for (;;) {
      if (this.takes('.')) {
        found = { code: `index(${singleOf(found)}, ${JSON.stringify(this.name())})`, is: 'value' };
      } else if (this.takes('[')) {
        found = { code: `index(${singleOf(found)}, ${singleOf(this.expression())})`, is: 'value' };
        this.expect(']');
      } else if (this.takes('(')) {
        found = { code: callOf(singleOf(found), this.args()), is: 'results' };
      } else {
        return found;
      }
    }
  }

  /** A variable. What a global table holds is looked up once. */
  private named(name: string): Expression {
    if (this.local(name) !== undefined || !this.is('.')) {
      return { code: this.variable(name), is: 'value' };
    }
    this.expect('.');
    return { code: this.variable(`${name}$${this.name()}`), is: 'value' };
  }

  private args(): readonly Expression[] {
    if (this.takes(')')) return [];
    const args = this.expressions();
    this.expect(')');
    return args;
  }
}

function binary(sign: string, left: Expression, right: Expression): Expression {
  const [a, b] = [left, right];
  switch (sign) {
    case 'and':
      if (a.is === 'boolean' && b.is === 'boolean')
        return { code: `(${a.code} && ${b.code})`, is: 'boolean' };
      if (a.is === 'boolean') return { code: `(${a.code} ? ${singleOf(b)} : false)`, is: 'value' };
      return { code: `(truth($ = ${singleOf(a)}) ? ${singleOf(b)} : $)`, is: 'value' };
    case 'or':
      if (a.is === 'boolean' && b.is === 'boolean')
        return { code: `(${a.code} || ${b.code})`, is: 'boolean' };
      return { code: `(truth($ = ${singleOf(a)}) ? $ : ${singleOf(b)})`, is: 'value' };
    case '==':
      return { code: `(${singleOf(a)} === ${singleOf(b)})`, is: 'boolean' };
    case '~=':
      return { code: `(${singleOf(a)} !== ${singleOf(b)})`, is: 'boolean' };
    case '<':
      return { code: `isLess(${singleOf(a)}, ${singleOf(b)})`, is: 'boolean' };
    case '<=':
      return { code: `isAtMost(${singleOf(a)}, ${singleOf(b)})`, is: 'boolean' };
    case '>':
      // What is left is evaluated first.
      return { code: `!isAtMost(${singleOf(a)}, ${singleOf(b)})`, is: 'boolean' };
    case '>=':
      return { code: `!isLess(${singleOf(a)}, ${singleOf(b)})`, is: 'boolean' };
    case '..':
      return { code: `(${textOf(a)} + ${textOf(b)})`, is: 'text' };
    case '%':
      return { code: `modulo(${numberOf(a)}, ${numberOf(b)})`, is: 'number' };
    default:
      return { code: `(${numberOf(a)} ${sign} ${numberOf(b)})`, is: 'number' };
  }
}

/** The first result. */
function singleOf({ code, is }: Expression): string {
  if (is === 'results') return `first(${code})`;
  return is === 'varargs' ? '$varargs[0]' : code;
}

function truthOf(value: Expression): string {
  return value.is === 'boolean' ? value.code : `truth(${singleOf(value)})`;
}

function numberOf(value: Expression): string {
  return value.is === 'number' ? value.code : `number(${singleOf(value)})`;
}

function textOf(value: Expression): string {
  return value.is === 'text' ? value.code : `text(${singleOf(value)})`;
}

/** Values one after the other, with all results of the last one. */
function listOf(values: readonly Expression[]): string {
  const last = values.at(-1);
  const before = values.slice(0, -1).map(singleOf);
  if (last === undefined) return '';
  if (last.is === 'varargs') return [...before, '...$varargs'].join(', ');
  if (last.is === 'results') return [...before, `...all(${last.code})`].join(', ');
  return [...before, singleOf(last)].join(', ');
}

function callOf(called: string, args: readonly Expression[]): string {
  const [only] = args;
  if (args.length === 1 && only?.is === 'results') {
    // Most have one result, which needs no list.
    return `(Array.isArray($ = ${only.code}) ? ${called}(...$) : ${called}($))`;
  }
  return `${called}(${listOf(args)})`;
}
