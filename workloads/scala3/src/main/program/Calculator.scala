package misstep.program

import scala.util.parsing.combinator.JavaTokenParsers

/** Evaluates sums, products, lets and conditions; compiled and loaded by the workload beside the library it uses. */
object Calculator extends JavaTokenParsers:
  enum Term:
    case Number(value: Long)
    case Name(name: String)
    case Binary(op: String, left: Term, right: Term)
    case Let(name: String, value: Term, body: Term)
    case If(left: Term, right: Term, yes: Term, no: Term)

  import Term.*

  private def chain(sub: Parser[Term], ops: Parser[String]): Parser[Term] =
    sub ~ rep(ops ~ sub) ^^ { case first ~ rest =>
      rest.foldLeft(first) { case (left, op ~ right) => Binary(op, left, right) }
    }

  private def let: Parser[Term] = ("let" ~> ident) ~ ("=" ~> term) ~ ("in" ~> term) ^^ {
    case name ~ value ~ body => Let(name, value, body)
  }

  private def condition: Parser[Term] =
    ("if" ~> term) ~ ("<" ~> term) ~ ("then" ~> term) ~ ("else" ~> term) ^^ { case left ~ right ~ yes ~ no =>
      If(left, right, yes, no)
    }

  private def factor: Parser[Term] =
    wholeNumber ^^ (digits => Number(digits.toLong))
      | "(" ~> term <~ ")"
      | let
      | condition
      | ident ^^ Name.apply

  private def product: Parser[Term] = chain(factor, "*")

  private def term: Parser[Term] = chain(product, "+" | "-")

  private def evaluate(term: Term, scope: Map[String, Long]): Long = term match
    case Number(value) => value
    case Name(name) => scope.getOrElse(name, sys.error(s"unknown name $name"))
    case Binary("+", left, right) => evaluate(left, scope) + evaluate(right, scope)
    case Binary("-", left, right) => evaluate(left, scope) - evaluate(right, scope)
    case Binary("*", left, right) => evaluate(left, scope) * evaluate(right, scope)
    case Binary(op, _, _) => sys.error(s"unknown operator $op")
    case Let(name, value, body) => evaluate(body, scope.updated(name, evaluate(value, scope)))
    case If(left, right, yes, no) =>
      if evaluate(left, scope) < evaluate(right, scope) then evaluate(yes, scope) else evaluate(no, scope)

  def calculate(text: String): Long = parseAll(term, text) match
    case Success(parsed, _) => evaluate(parsed, Map.empty)
    case failure: NoSuccess => sys.error(failure.toString)
