import type { AssignmentTarget, Expression, MacroParameter, Statement, StatementParts } from './ast.ts';
import { parseExpression, parseFilter, parseItemOrTuple, parseItems, parseOr, parseTuple } from './parseExpression.ts';
import { TokenStream } from './lexer.ts';

/** Parses a template. @throws Error when it is not valid, with its line. */
export function parseTemplate(source: string): readonly Statement[] {
  const stream = new TokenStream(source);
  const body = parseBody(stream);
  if (stream.current.type !== 'end') stream.fail('unexpected end of a block');
  return body;
}

function parseBody(stream: TokenStream, ...ends: readonly string[]): readonly Statement[] {
  return stream.nested(() => {
    const statements: Statement[] = [];
    while (stream.current.type !== 'end') {
      const { type, offset } = stream.current;
      if (type === 'text') {
        statements.push({ type: 'text', text: stream.take().text, offset });
      } else if (stream.skip('{{')) {
        statements.push({ type: 'output', value: parseTuple(stream), offset });
        stream.expect('}}');
      } else {
        stream.expect('{%');
        if (stream.is(...ends)) return statements;
        statements.push({ ...parseTag(stream), offset });
      }
    }
    if (ends.length > 0) stream.fail(`expected "${ends.join('" or "')}"`);
    return statements;
  });
}

function parseBlock(stream: TokenStream, end: string): readonly Statement[] {
  stream.expect('%}');
  const body = parseBody(stream, end);
  stream.take();
  stream.expect('%}');
  return body;
}

function parseTag(stream: TokenStream): StatementParts {
  const name = stream.expectName();
  switch (name) {
    case 'if':
      return parseIf(stream);
    case 'for':
      return parseFor(stream);
    case 'set':
      return parseSet(stream);
    case 'macro':
      return parseMacro(stream);
    case 'call':
      return parseCallBlock(stream);
    case 'filter':
      return { type: 'output', value: parseFilteredBlock(stream, 'endfilter') };
    case 'with':
      return { type: 'with', assignments: parseAssignments(stream), body: parseBlock(stream, 'endwith') };
    // Of transformers: marks what the assistant generates. It has a scope of its own.
    case 'generation':
      return { type: 'with', assignments: [], body: parseBlock(stream, 'endgeneration') };
    case 'break':
    case 'continue':
      stream.expect('%}');
      return { type: name };
    default:
      return stream.fail(`unknown tag "${name}" before this`);
  }
}

function parseIf(stream: TokenStream): StatementParts {
  const branches: { test: Expression; body: readonly Statement[] }[] = [];
  do {
    const test = parseTuple(stream);
    stream.expect('%}');
    branches.push({ test, body: parseBody(stream, 'elif', 'else', 'endif') });
  } while (stream.skip('elif'));
  return { type: 'if', branches, otherwise: parseElse(stream, 'endif') };
}

/** The statements after `else`, if there are any, up to the end tag of a block, which is skipped. */
function parseElse(stream: TokenStream, end: string): readonly Statement[] {
  if (stream.skip('else')) return parseBlock(stream, end);
  stream.expect(end);
  stream.expect('%}');
  return [];
}

function parseFor(stream: TokenStream): StatementParts {
  const target = parseTarget(stream);
  stream.expect('in');
  const iterable = parseTuple(stream, parseOr);
  const test = stream.skip('if') ? parseExpression(stream) : undefined;
  const recursive = stream.skip('recursive');
  stream.expect('%}');
  const body = parseBody(stream, 'else', 'endfor');
  return { type: 'for', target, iterable, test, recursive, body, otherwise: parseElse(stream, 'endfor') };
}

function parseSet(stream: TokenStream): StatementParts {
  const target = parseTarget(stream);
  if (stream.skip('|')) return { type: 'set', target, value: parseFilteredBlock(stream, 'endset') };
  if (!stream.skip('=')) return { type: 'set', target, value: { type: 'block', body: parseBlock(stream, 'endset') } };
  const value = parseTuple(stream);
  stream.expect('%}');
  return { type: 'set', target, value };
}

function parseMacro(stream: TokenStream): StatementParts {
  const name = stream.expectName();
  stream.expect('(');
  const parameters = parseParameters(stream);
  const value: Expression = { type: 'macro', name, parameters, body: parseBlock(stream, 'endmacro') };
  return { type: 'set', target: { type: 'name', name }, value };
}

/** Parses parameters after their opening parenthesis. */
const parseParameters = (stream: TokenStream): readonly MacroParameter[] =>
  parseItems(stream, ')', () => ({
    name: stream.expectName(),
    fallback: stream.skip('=') ? parseExpression(stream) : undefined,
  }));

function parseCallBlock(stream: TokenStream): StatementParts {
  const parameters = stream.skip('(') ? parseParameters(stream) : [];
  const call = parseExpression(stream);
  if (call.type !== 'call') stream.fail('expected a call before this');
  const caller: Expression = { type: 'macro', name: 'caller', parameters, body: parseBlock(stream, 'endcall') };
  const args = { ...call.args, keywords: [...call.args.keywords, ['caller', caller] as const] };
  return { type: 'output', value: { ...call, args } };
}

/** Parses filters, and the block whose text they are applied to. */
function parseFilteredBlock(stream: TokenStream, end: string): Expression {
  const filters = [parseFilter(stream)];
  while (stream.skip('|')) filters.push(parseFilter(stream));
  const block: Expression = { type: 'block', body: parseBlock(stream, end) };
  return filters.reduce<Expression>((operand, filter) => ({ type: 'filter', operand, ...filter }), block);
}

function parseAssignments(stream: TokenStream): readonly { target: AssignmentTarget; value: Expression }[] {
  const assignments: { target: AssignmentTarget; value: Expression }[] = [];
  while (!stream.is('%}')) {
    if (assignments.length > 0) stream.expect(',');
    const target = parseTarget(stream);
    stream.expect('=');
    assignments.push({ target, value: parseExpression(stream) });
  }
  return assignments;
}

const parseTarget = (stream: TokenStream): AssignmentTarget =>
  parseItemOrTuple(stream, parseSingleTarget, '=', ')', 'in');

function parseSingleTarget(stream: TokenStream): AssignmentTarget {
  if (stream.skip('(')) {
    const target = stream.nested(() => parseTarget(stream));
    stream.expect(')');
    return target;
  }
  const name = stream.expectName();
  return stream.skip('.') ? { type: 'namespace', name, attribute: stream.expectName() } : { type: 'name', name };
}
