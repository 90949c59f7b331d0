import type { ArgumentList, ArithmeticOperator, ComparisonOperator, Expression, FilterCall } from './ast.ts';
import type { TokenStream } from './lexer.ts';
import { Float } from '../values/values.ts';

/** Parses an expression; `a if b else c` is one. */
export function parseExpression(stream: TokenStream): Expression {
  return stream.nested(() => {
    let expression = parseOr(stream);
    while (stream.skipName('if')) {
      const test = parseOr(stream);
      const whenFalse = stream.skipName('else') ? parseExpression(stream) : undefined;
      expression = { type: 'condition', test, whenTrue: expression, whenFalse };
    }
    return expression;
  });
}

/**
 * Parses an expression, or a tuple of them without parentheses.
 * @param parseItem what parses each of them.
 */
export function parseTuple(stream: TokenStream, parseItem = parseExpression): Expression {
  const first = parseItem(stream);
  if (!stream.isOperator(',')) return first;
  const items = [first];
  while (stream.skipOperator(',')) {
    if (stream.isOperator(')', '}}', '%}') || stream.isName('in', 'recursive')) break;
    items.push(parseItem(stream));
  }
  return { type: 'tuple', items };
}

/** Parses an expression that is no condition, as in `for x in y if z`. */
export function parseOr(stream: TokenStream): Expression {
  let left = parseAnd(stream);
  while (stream.skipName('or')) left = { type: 'or', left, right: parseAnd(stream) };
  return left;
}

function parseAnd(stream: TokenStream): Expression {
  let left = parseNot(stream);
  while (stream.skipName('and')) left = { type: 'and', left, right: parseNot(stream) };
  return left;
}

function parseNot(stream: TokenStream): Expression {
  if (!stream.skipName('not')) return parseComparison(stream);
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
  if (stream.skipName('in')) return 'in';
  if (stream.isName('not') && stream.next.type === 'name' && stream.next.text === 'in') {
    stream.take();
    stream.take();
    return 'not in';
  }
  return comparisons.find((operator) => stream.skipOperator(operator));
}

/** Operands with operators of one precedence between them, from the left. */
function parseArithmetic(
  stream: TokenStream,
  operators: readonly ArithmeticOperator[],
  parseOperand: (stream: TokenStream) => Expression,
): Expression {
  let left = parseOperand(stream);
  for (;;) {
    const operator = operators.find((each) => stream.skipOperator(each));
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
  while (stream.skipOperator('~')) parts.push(parseProduct(stream));
  return parts.length === 1 ? first : { type: 'concatenation', parts };
}

const parseUnary = (stream: TokenStream): Expression => parseFiltersAndTests(stream, parseSigned(stream));

function parseSigned(stream: TokenStream): Expression {
  const operator = (['-', '+'] as const).find((operator) => stream.skipOperator(operator));
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
  if (stream.skipOperator('(')) {
    const isEmpty = stream.isOperator(')');
    const expression: Expression = isEmpty ? { type: 'tuple', items: [] } : parseTuple(stream);
    stream.expectOperator(')');
    return expression;
  }
  if (stream.skipOperator('[')) return { type: 'list', items: parseItems(stream, ']', parseExpression) };
  if (stream.skipOperator('{')) return { type: 'dict', entries: parseItems(stream, '}', parseEntry) };
  return stream.fail('expected an expression');
}

const constants = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

function parseName(name: string): Expression {
  const value = constants.get(name);
  return value === undefined ? { type: 'name', name } : { type: 'literal', value };
}

/** Items up to a bracket, separated by commas; one more may follow the last. */
export function parseItems<T>(stream: TokenStream, end: string, parseItem: (stream: TokenStream) => T): readonly T[] {
  const items: T[] = [];
  while (!stream.skipOperator(end)) {
    if (items.length > 0) stream.expectOperator(',');
    if (stream.skipOperator(end)) break;
    items.push(parseItem(stream));
  }
  return items;
}

function parseEntry(stream: TokenStream): readonly [Expression, Expression] {
  const key = parseExpression(stream);
  stream.expectOperator(':');
  return [key, parseExpression(stream)];
}

function parsePostfix(stream: TokenStream, start: Expression): Expression {
  let object = start;
  for (;;) {
    if (stream.skipOperator('.')) {
      const { type, text } = stream.take();
      if (type === 'name') object = { type: 'attribute', object, name: text };
      else if (type === 'integer') object = { type: 'item', object, key: { type: 'literal', value: Number(text) } };
      else stream.fail('expected a name or a number after "."');
    } else if (stream.skipOperator('[')) object = parseSubscript(stream, object);
    else if (stream.isOperator('(')) object = { type: 'call', callee: object, args: parseArguments(stream) };
    else return object;
  }
}

function parseSubscript(stream: TokenStream, object: Expression): Expression {
  const bounds: (Expression | undefined)[] = [undefined];
  while (!stream.isOperator(']')) {
    if (stream.skipOperator(':')) bounds.push(undefined);
    else if (bounds.at(-1)) stream.fail('expected "]"');
    else bounds[bounds.length - 1] = parseTuple(stream);
  }
  stream.expectOperator(']');
  const [key] = bounds;
  if (bounds.length > 3 || (bounds.length === 1 && !key)) stream.fail('invalid subscript before this');
  return bounds.length === 1 && key ? { type: 'item', object, key } : { type: 'slice', object, bounds };
}

function parseFiltersAndTests(stream: TokenStream, start: Expression): Expression {
  let operand = start;
  for (;;) {
    if (stream.skipOperator('|')) operand = { type: 'filter', operand, ...parseFilter(stream) };
    else if (stream.skipName('is')) operand = parseTest(stream, operand);
    else if (stream.isOperator('(')) operand = { type: 'call', callee: operand, args: parseArguments(stream) };
    else return operand;
  }
}

/** Parses the name of a filter and its arguments. */
export function parseFilter(stream: TokenStream): FilterCall {
  const name = stream.expectName();
  return { name, args: stream.isOperator('(') ? parseArguments(stream) : noArguments };
}

function parseTest(stream: TokenStream, operand: Expression): Expression {
  const isNegated = stream.skipName('not');
  const name = stream.expectName();
  const test: Expression = { type: 'test', operand, name, args: parseTestArguments(stream) };
  return isNegated ? { type: 'not', operand: test } : test;
}

const noArguments: ArgumentList = { positional: [], keywords: [] };

// A test may have one argument without parentheses: `x is divisibleby 3`.
function parseTestArguments(stream: TokenStream): ArgumentList {
  if (stream.isOperator('(')) return parseArguments(stream);
  const { type } = stream.current;
  const isLiteral = type === 'string' || type === 'integer' || type === 'float' || stream.isOperator('[', '{');
  const isOther = type === 'name' && !stream.isName('else', 'or', 'and', 'if', 'in', 'not', 'is');
  if (!isLiteral && !isOther) return noArguments;
  return { positional: [parsePostfix(stream, parsePrimary(stream))], keywords: [] };
}

/** Parses the arguments of a call, with the parentheses. */
function parseArguments(stream: TokenStream): ArgumentList {
  const positional: Expression[] = [];
  const keywords: (readonly [string, Expression])[] = [];
  let spread: Expression | undefined;
  let keywordSpread: Expression | undefined;
  stream.expectOperator('(');
  parseItems(stream, ')', () => {
    const isKeyword = stream.current.type === 'name' && stream.next.type === 'operator' && stream.next.text === '=';
    if (stream.skipOperator('**')) keywordSpread = parseExpression(stream);
    else if (stream.skipOperator('*')) spread = parseExpression(stream);
    else if (isKeyword) {
      const name = stream.expectName();
      stream.expectOperator('=');
      keywords.push([name, parseExpression(stream)]);
    } else if (keywords.length > 0 || spread || keywordSpread) stream.fail('a positional argument follows others');
    else positional.push(parseExpression(stream));
  });
  return { positional, keywords, spread, keywordSpread };
}
