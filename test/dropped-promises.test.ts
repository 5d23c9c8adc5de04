import { expect, it } from 'bun:test';
import { join, relative } from 'node:path';
import type { Expression, Node } from 'typescript/unstable/ast';
import {
  isArrowFunction,
  isBinaryExpression,
  isBlock,
  isExpressionStatement,
} from 'typescript/unstable/ast/is';
import { API, type Checker, SignatureKind, type Type, TypeFlags } from 'typescript/unstable/async';

/**
 * Biome finds dropped promises, but not a dropped `MaybePromise`, which is only a promise with an engine that answers late.
 * So this asks the compiler for the type of each statement that ignores a value, and of each arrow function whose caller does.
 */

const ROOT = join(import.meta.dir, '..');
const CHECKED = /^src\/(?:channels|transports|engines|node)\//;
const TEST = /\.(?:test|fixture)\.ts$/;

/** Whether a value of this type may be a promise, and may be something else. */
async function mayBePromise(type: Type | undefined): Promise<boolean> {
  if (type === undefined || !type.isUnionType()) return false;
  for (const one of await type.getTypes()) {
    if (one.isObjectType() && (await one.getSymbol())?.name === 'Promise') return true;
  }
  return false;
}

/** Whether callers of a function of this type ignore what it returns. */
async function isIgnored(checker: Checker, type: Type | undefined): Promise<boolean> {
  if (type === undefined) return false;
  for (const one of type.isUnionType() ? await type.getTypes() : [type]) {
    for (const signature of await checker.getSignaturesOfType(one, SignatureKind.Call)) {
      const returned = await checker.getReturnTypeOfSignature(signature);
      if (returned !== undefined && (returned.flags & TypeFlags.Void) !== 0) return true;
    }
  }
  return false;
}

interface Arrow {
  readonly arrow: Expression;
  readonly body: Expression;
}

function find(source: Node): { readonly statements: Expression[]; readonly arrows: Arrow[] } {
  const statements: Expression[] = [];
  const arrows: Arrow[] = [];
  const visit = (node: Node): void => {
    // An assignment uses the value.
    if (isExpressionStatement(node) && !isBinaryExpression(node.expression)) {
      statements.push(node.expression);
    }
    if (isArrowFunction(node) && !isBlock(node.body)) arrows.push({ arrow: node, body: node.body });
    node.forEachChild(visit);
  };
  visit(source);
  return { statements, arrows };
}

it('drops no value that may be a promise', async () => {
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.json')] });
    const [project] = snapshot.getProjects();
    if (project === undefined) throw new Error('No project');
    const { program, checker } = project;
    const dropped: string[] = [];
    let checked = 0;
    for (const path of await program.getSourceFileNames()) {
      const file = relative(ROOT, path);
      if (!CHECKED.test(file) || TEST.test(file)) continue;
      const source = await program.getSourceFile(path);
      if (source === undefined) continue;
      const { statements, arrows } = find(source);
      const types = await checker.getTypeAtLocation([
        ...statements,
        ...arrows.map(({ body }) => body),
      ]);
      for (const [index, type] of types.entries()) {
        if (!(await mayBePromise(type))) continue;
        const statement = statements[index];
        const arrow = arrows[index - statements.length]?.arrow;
        if (statement !== undefined) dropped.push(`${file}: ${statement.getText()}`);
        else if (
          arrow !== undefined &&
          (await isIgnored(checker, await checker.getContextualType(arrow)))
        ) {
          dropped.push(`${file}: ${arrow.getText()}`);
        }
      }
      checked += types.length;
    }
    expect(checked).toBeGreaterThan(1_000);
    expect(dropped).toEqual([]);
  } finally {
    await api.close();
  }
}, 180_000);
