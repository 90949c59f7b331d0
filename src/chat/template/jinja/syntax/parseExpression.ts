import type { ArgumentList, ArithmeticOperator, ComparisonOperator, Expression, FilterCall } from './ast.ts';
import type { TokenStream } from './lexer.ts';
import { Float } from '../values/values.ts';

/** Parses an expression; `a if b else c` is one. */
export function parseExpression(stream: TokenStream): Expression {
  return stream.nested(() => {
    let expression = parseOr(stream);
    while (stream.skip('if')) {
      const test = parseOr(stream);
      const whenFalse = stream.skip('else') ? parseExpression(stream) : undefined;
      expression = { type: 'condition', test, whenTrue: expression, whenFalse };
    }
    return expression;
  });
}

/** Parses an expression, or a tuple of them without parentheses. @param parseItem what parses each of them. */
export const parseTuple = (stream: TokenStream, parseItem = parseExpression): Expression =>
  parseItemOrTuple(stream, parseItem, ')', '}}', '%}', 'in', 'recursive');

/** Parses an item, or a tuple of them without parentheses. @param ends what may follow a comma after the last one. */
export function parseItemOrTuple<Item>(
  stream: TokenStream,
  parseItem: (stream: TokenStream) => Item,
  ...ends: readonly string[]
): Item | { readonly type: 'tuple'; readonly items: readonly Item[] } {
  const first = parseItem(stream);
  if (!stream.is(',')) return first;
  const items = [first];
  while (stream.skip(',') && !stream.is(...ends)) items.push(parseItem(stream));
  return { type: 'tuple', items };
}

/** Parses an expression that is no condition, as in `for x in y if z`. */
export const parseOr = (stream: TokenStream): Expression => parseLogical(stream, 'or', parseAnd);
const parseAnd = (stream: TokenStream): Expression => parseLogical(stream, 'and', parseNot);

function parseLogical(stream: TokenStream, type: 'or' | 'and', parseOperand: typeof parseNot): Expression {
  let left = parseOperand(stream);
  while (stream.skip(type)) left = { type, left, right: parseOperand(stream) };
  return left;
}

function parseNot(stream: TokenStream): Expression {
  if (!stream.skip('not')) return parseComparison(stream);
  return { type: 'not', operand: stream.nested(() => parseNot(stream)) };
}

function parseComparison(stream: TokenStream): Expression {
  const first = parseSum(stream);
  const rest: { operator: ComparisonOperator; operand: Expression }[] = [];
  for (let operator = takeComparison(stream); operator; operator = takeComparison(stream))
    rest.push({ operator, operand: parseSum(stream) });
  return rest.length === 0 ? first : { type: 'comparison', first, rest };
}

const comparisons = ['==', '!=', '<', '<=', '>', '>='] as const;

function takeComparison(stream: TokenStream): ComparisonOperator | undefined {
  if (stream.skip('in')) return 'in';
  if (stream.is('not') && stream.isNext('in')) {
    stream.take();
    stream.take();
    return 'not in';
  }
  return comparisons.find((operator) => stream.skip(operator));
}

function parseArithmetic(
  stream: TokenStream,
  operators: readonly ArithmeticOperator[],
  parseOperand: (stream: TokenStream) => Expression,
): Expression {
  let left = parseOperand(stream);
  for (;;) {
    const operator = operators.find((each) => stream.skip(each));
    if (!operator) return left;
    left = { type: 'arithmetic', operator, left, right: parseOperand(stream) };
  }
}

const parseSum = (stream: TokenStream): Expression => parseArithmetic(stream, ['+', '-'], parseConcatenation);
const parseProduct = (stream: TokenStream): Expression => parseArithmetic(stream, ['*', '//', '/', '%'], parsePower);
const parsePower = (stream: TokenStream): Expression => parseArithmetic(stream, ['**'], parseUnary);

function parseConcatenation(stream: TokenStream): Expression {
  const first = parseProduct(stream);
  const parts = [first];
  while (stream.skip('~')) parts.push(parseProduct(stream));
  return parts.length === 1 ? first : { type: 'concatenation', parts };
}

const parseUnary = (stream: TokenStream): Expression => parseFiltersAndTests(stream, parseSigned(stream));

function parseSigned(stream: TokenStream): Expression {
  const operator = (['-', '+'] as const).find((operator) => stream.skip(operator));
  return parsePostfix(
    stream,
    operator ? { type: 'sign', operator, operand: stream.nested(() => parseSigned(stream)) } : parsePrimary(stream),
  );
}

function parsePrimary(stream: TokenStream): Expression {
  const token = stream.current;
  switch (token.type) {
    case 'name':
      return parseName(stream.take().text);
    case 'string': {
      let value = '';
      while (stream.current.type === 'string') value += stream.take().text;
      return { type: 'literal', value };
    }
    case 'integer':
      return { type: 'literal', value: Number(stream.take().text) };
    case 'float':
      return { type: 'literal', value: new Float(Number(stream.take().text)) };
    default:
  }
  if (stream.skip('(')) {
    const isEmpty = stream.is(')');
    const expression: Expression = isEmpty ? { type: 'tuple', items: [] } : parseTuple(stream);
    stream.expect(')');
    return expression;
  }
  if (stream.skip('[')) return { type: 'list', items: parseItems(stream, ']', parseExpression) };
  if (stream.skip('{')) return { type: 'dict', entries: parseItems(stream, '}', parseEntry) };
  return stream.fail('expected an expression');
}

const constants = new Map(
  Object.entries({ true: true, True: true, false: false, False: false, none: null, None: null }),
);

function parseName(name: string): Expression {
  const value = constants.get(name);
  return value === undefined ? { type: 'name', name } : { type: 'literal', value };
}

/** Items up to a bracket, separated by commas; one more may follow the last. */
export function parseItems<T>(stream: TokenStream, end: string, parseItem: (stream: TokenStream) => T): readonly T[] {
  const items: T[] = [];
  while (!stream.skip(end)) {
    if (items.length > 0) stream.expect(',');
    if (stream.skip(end)) break;
    items.push(parseItem(stream));
  }
  return items;
}

function parseEntry(stream: TokenStream): readonly [Expression, Expression] {
  const key = parseExpression(stream);
  stream.expect(':');
  return [key, parseExpression(stream)];
}

function parsePostfix(stream: TokenStream, start: Expression): Expression {
  let object = start;
  for (;;) {
    if (stream.skip('.')) {
      const { type, text } = stream.take();
      if (type === 'name') object = { type: 'attribute', object, name: text };
      else if (type === 'integer') object = { type: 'item', object, key: { type: 'literal', value: Number(text) } };
      else stream.fail('expected a name or a number after "."');
    } else if (stream.skip('[')) object = parseSubscript(stream, object);
    else if (stream.is('(')) object = { type: 'call', callee: object, args: parseArguments(stream) };
    else return object;
  }
}

function parseSubscript(stream: TokenStream, object: Expression): Expression {
  const bounds: (Expression | undefined)[] = [undefined];
  while (!stream.is(']')) {
    if (stream.skip(':')) bounds.push(undefined);
    else if (bounds.at(-1)) stream.fail('expected "]"');
    else bounds[bounds.length - 1] = parseTuple(stream);
  }
  stream.expect(']');
  const [key] = bounds;
  if (bounds.length > 3 || (bounds.length === 1 && !key)) stream.fail('invalid subscript before this');
  return bounds.length === 1 && key ? { type: 'item', object, key } : { type: 'slice', object, bounds };
}

function parseFiltersAndTests(stream: TokenStream, start: Expression): Expression {
  let operand = start;
  for (;;) {
    if (stream.skip('|')) operand = { type: 'filter', operand, ...parseFilter(stream) };
    else if (stream.skip('is')) operand = parseTest(stream, operand);
    else if (stream.is('(')) operand = { type: 'call', callee: operand, args: parseArguments(stream) };
    else return operand;
  }
}

export function parseFilter(stream: TokenStream): FilterCall {
  const name = stream.expectName();
  return { name, args: stream.is('(') ? parseArguments(stream) : noArguments };
}

function parseTest(stream: TokenStream, operand: Expression): Expression {
  const isNegated = stream.skip('not');
  const name = stream.expectName();
  const test: Expression = { type: 'test', operand, name, args: parseTestArguments(stream) };
  return isNegated ? { type: 'not', operand: test } : test;
}

const noArguments: ArgumentList = { positional: [], keywords: [] };

// A test may have one argument without parentheses: `x is divisibleby 3`.
function parseTestArguments(stream: TokenStream): ArgumentList {
  if (stream.is('(')) return parseArguments(stream);
  const { type } = stream.current;
  const isLiteral = type === 'string' || type === 'integer' || type === 'float' || stream.is('[', '{');
  const isOther = type === 'name' && !stream.is('else', 'or', 'and', 'if', 'in', 'not', 'is');
  if (!isLiteral && !isOther) return noArguments;
  return { positional: [parsePostfix(stream, parsePrimary(stream))], keywords: [] };
}

function parseArguments(stream: TokenStream): ArgumentList {
  const positional: Expression[] = [];
  const keywords: (readonly [string, Expression])[] = [];
  let spread: Expression | undefined;
  let keywordSpread: Expression | undefined;
  stream.expect('(');
  parseItems(stream, ')', () => {
    const isKeyword = stream.current.type === 'name' && stream.isNext('=');
    if (stream.skip('**')) keywordSpread = parseExpression(stream);
    else if (stream.skip('*')) spread = parseExpression(stream);
    else if (isKeyword) {
      const name = stream.expectName();
      stream.expect('=');
      keywords.push([name, parseExpression(stream)]);
    } else if (keywords.length > 0 || spread || keywordSpread) stream.fail('a positional argument follows others');
    else positional.push(parseExpression(stream));
  });
  return { positional, keywords, spread, keywordSpread };
}
