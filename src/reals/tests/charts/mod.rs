//! What charts give is equal over the reals, and can be computed where the term itself cannot: programs of any size.

mod best;
mod program;

use crate::evidence;
use best::{Search, between};
use ngc_ir::structure::Index;
use ngc_numerics::{Format, Prim, Reduce};
use ngc_reals::Use;
use program::Program;

/// Computes a program as it stands and with charts.
fn compare(name: &str, most: f64, build: impl Fn(&mut Program) -> Use) -> (f64, f64) {
    let mut errors = [0.0; 2];
    let mut how = String::new();
    for (n, error) in errors.iter_mut().enumerate() {
        let mut program = Program::new(name);
        let of = build(&mut program);
        let Program { mut store, inputs, .. } = program;
        let mut search = Search::new(&mut store, &inputs, Format::F64, n == 1);
        let found = search.best(of.id);
        *error = found.error;
        how = format!("{}\n      {}", store.show(&of), found.how);
    }
    println!(
        "{name:40} {:10.3e} -> {:10.3e}   {}",
        errors[0],
        errors[1],
        if errors[1] > most { &how } else { "" }
    );
    (errors[0], errors[1])
}

/// How a program is made.
type Build = Box<dyn Fn(&mut Program) -> Use>;

/// A program by name, and the error that its best form may have.
type Case = (String, f64, Build);

fn check(programs: &[Case]) {
    let mut failed = Vec::new();
    for (name, most, build) in programs {
        let (plain, best) = compare(name, *most, build);
        if best.is_nan() || best > *most {
            failed.push(format!("{name}: {plain:e} -> {best:e}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

fn of(name: &str, n: usize, most: f64, build: impl Fn(&mut Program, usize) -> Use + 'static) -> Case {
    (format!("{name} of {n}"), most, Box::new(move |p| build(p, n)))
}

/// Numbers of terms; where the certificate is fresh one of them, another for each commit.
fn sizes() -> Vec<usize> {
    evidence::sampled("laws", 3, [2, 3, 6])
}

fn place(n: i64) -> Index {
    Index::number(n)
}

#[test]
fn logarithms() {
    let mut all: Vec<Case> = Vec::new();
    for n in sizes() {
        all.push(of("log of a sum of exponentials", n, 40.0, |p, n| {
            let x = p.scalars(n, 3000.0);
            let e: Vec<Use> = x.iter().map(|x| p.exp(x)).collect();
            let sum = p.total(&e);
            p.log(&sum)
        }));
        all.push(of("log of a mixture of softmaxes", n.min(3), 1e4, |p, n| {
            let parts: Vec<Use> = (0..n)
                .map(|k| {
                    let x = p.numbers(&[5], 800.0);
                    let s = p.softmax(&x, 5, place(k as i64 % 5));
                    p.scaled((k as i64 + 1, 100), &s)
                })
                .collect();
            let sum = p.total(&parts);
            p.log(&sum)
        }));
        all.push(of("log of a product of probabilities", n, 1e3, |p, n| {
            let x = p.input(&[n], between(0.0, 1.0), |r, _| 10f64.powf(r.uniform(-290.0, -100.0)));
            let product = p.over(Reduce::Prod, n, |p, j| p.at(&x, &[j]));
            p.log(&product)
        }));
        all.push(of("geometric mean", n, 1e4, |p, n| {
            let x = p.input(&[n], between(0.0, f64::INFINITY), |r, _| 10f64.powf(r.uniform(200.0, 300.0)));
            let product = p.over(Reduce::Prod, n, |p, j| p.at(&x, &[j]));
            p.power(&product, (1, n as i64))
        }));
        all.push(of("forward algorithm", n, 1e4, |p, n| {
            // Two steps of a hidden Markov model, and the log-likelihood.
            let a = p.input(&[n, n], between(0.0, 1.0), |r, _| 10f64.powf(r.uniform(-120.0, -1.0)));
            let b = p.input(&[n], between(0.0, 1.0), |r, _| 10f64.powf(r.uniform(-150.0, -1.0)));
            let c = p.input(&[n], between(0.0, 1.0), |r, _| 10f64.powf(r.uniform(-150.0, -100.0)));
            let total = p.over(Reduce::Sum, n, |p, k| {
                let step = p.over(Reduce::Sum, n, |p, j| {
                    let (a, b) = (p.at(&a, &[j.clone(), k.clone()]), p.at(&b, &[j]));
                    p.mul(&a, &b)
                });
                let c = p.at(&c, &[k]);
                p.mul(&step, &c)
            });
            p.log(&total)
        }));
        all.push(of("forward algorithm on scores", n, 1e4, |p, n| {
            let a = p.numbers(&[n, n], 2000.0);
            let b = p.numbers(&[n], 2000.0);
            let c = p.numbers(&[n], 2000.0);
            let total = p.over(Reduce::Sum, n, |p, k| {
                let step = p.over(Reduce::Sum, n, |p, j| {
                    let (a, b) = (p.at(&a, &[j.clone(), k.clone()]), p.at(&b, &[j]));
                    let (a, b) = (p.exp(&a), p.exp(&b));
                    p.mul(&a, &b)
                });
                let c = p.at(&c, &[k]);
                let c = p.exp(&c);
                p.mul(&step, &c)
            });
            p.log(&total)
        }));
        all.push(of("log of a mean of products of exponentials", n, 1e3, |p, n| {
            let (x, y) = (p.numbers(&[n], 2000.0), p.numbers(&[n], 2000.0));
            let sum = p.over(Reduce::Sum, n, |p, j| {
                let [x, y] = [&x, &y].map(|x| p.at(x, std::slice::from_ref(&j)));
                let (x, y) = (p.exp(&x), p.exp(&y));
                p.mul(&x, &y)
            });
            let mean = p.scaled((1, n as i64), &sum);
            p.log(&mean)
        }));
        all.push(of("log of a product of hyperbolic sines", n, 1e3, |p, n| {
            let x = p.numbers(&[n], 2000.0);
            let product = p.over(Reduce::Prod, n, |p, j| {
                let x = p.at(&x, &[j]);
                let s = p.apply(Prim::Sinh, &[&x]);
                p.apply(Prim::Abs, &[&s])
            });
            p.log(&product)
        }));
        all.push(of("log of a sum of hyperbolic cosines", n, 1e3, |p, n| {
            let x = p.numbers(&[n], 2000.0);
            let sum = p.over(Reduce::Sum, n, |p, j| {
                let x = p.at(&x, &[j]);
                p.apply(Prim::Cosh, &[&x])
            });
            p.log(&sum)
        }));
        all.push(of("log of a product of sigmoids", n, 1e3, |p, n| {
            let x = p.numbers(&[n], 2000.0);
            let product = p.over(Reduce::Prod, n, |p, j| {
                let x = p.at(&x, &[j]);
                p.sigmoid(&x)
            });
            p.log(&product)
        }));
        all.push(of("log of a ratio of sums", n, 1e4, |p, n| {
            let (x, y) = (p.numbers(&[n], 4000.0), p.numbers(&[n], 4000.0));
            let [a, b] = [x, y].map(|x| {
                p.over(Reduce::Sum, n, |p, j| {
                    let x = p.at(&x, &[j]);
                    p.exp(&x)
                })
            });
            let one = p.plus(1, &b);
            let ratio = p.div(&a, &one);
            p.log(&ratio)
        }));
    }
    check(&all);
}

#[test]
fn multiples_of_exponentials() {
    let mut all: Vec<Case> = Vec::new();
    for n in sizes() {
        all.push(of("mean with hyperbolic weights", n, 1e4, |p, n| {
            let x = p.numbers(&[n], 2000.0);
            let [above, below] = [Prim::Sinh, Prim::Cosh].map(|prim| {
                p.over(Reduce::Sum, n, |p, j| {
                    let x = p.at(&x, &[j]);
                    p.apply(prim, &[&x])
                })
            });
            p.div(&above, &below)
        }));
        all.push(of("softmax", n, 1e4, |p, n| {
            let x = p.numbers(&[n], 3000.0);
            p.softmax(&x, n, place(1))
        }));
        all.push(of("weighted mean by softmax", n, 1e4, |p, n| {
            let (x, v) = (p.numbers(&[n], 3000.0), p.numbers(&[n], 5.0));
            p.over(Reduce::Sum, n, |p, j| {
                let s = p.softmax(&x, n, j.clone());
                let v = p.at(&v, &[j]);
                p.mul(&s, &v)
            })
        }));
        all.push(of("written-out weighted mean", n, 1e4, |p, n| {
            let (x, v) = (p.scalars(n, 3000.0), p.scalars(n, 5.0));
            let e: Vec<Use> = x.iter().map(|x| p.exp(x)).collect();
            let ev: Vec<Use> = e.iter().zip(&v).map(|(e, v)| p.mul(e, v)).collect();
            let (above, below) = (p.total(&ev), p.total(&e));
            p.div(&above, &below)
        }));
        all.push(of("softmax of softmaxes' ratio", n, 1e5, |p, n| {
            let (x, y) = (p.numbers(&[n], 900.0), p.numbers(&[n], 900.0));
            let (a, b) = (p.softmax(&x, n, place(0)), p.softmax(&y, n, place(1)));
            let both = p.mul(&a, &b);
            let total = p.over(Reduce::Sum, n, |p, j| {
                let (a, b) = (p.softmax(&x, n, j.clone()), p.softmax(&y, n, j));
                p.mul(&a, &b)
            });
            p.div(&both, &total)
        }));
    }
    check(&all);
}

#[test]
fn complements() {
    let mut all: Vec<Case> = Vec::new();
    for n in sizes() {
        all.push(of("one minus a product of survivals", n, 1e3, |p, n| {
            let x = p.input(&[n], between(0.0, 1.0), |r, _| 10f64.powf(r.uniform(-18.0, -1.0)) * 0.9);
            let product = p.over(Reduce::Prod, n, |p, j| {
                let x = p.at(&x, &[j]);
                p.rest(&x)
            });
            p.rest(&product)
        }));
    }
    for n in [2, 3, 4] {
        all.push(of("one minus entries of softmax", n, 1e4, |p, n| {
            let x = p.input(&[n], ngc_dialects::facts::Fact::UNKNOWN, |r, point| {
                r.uniform(0.0, 40.0) * if point % 2 == 0 { 1.0 } else { 20.0 }
            });
            let one = p.softmax(&x, n, place(0));
            p.rest(&one)
        }));
        all.push(of("log of a mixture near 1", n, 20.0, |p, n| {
            let parts: Vec<Use> = (0..n)
                .map(|k| {
                    let x = p.input(&[], between(0.0, 1.0), |r, _| 1.0 - 10f64.powf(r.uniform(-15.0, -3.0)));
                    let weight = if k == 0 { 10 - n as i64 + 1 } else { 1 };
                    p.scaled((weight, 10), &x)
                })
                .collect();
            let sum = p.total(&parts);
            p.log(&sum)
        }));
    }
    all.push(of("focal cross entropy", 1, 1e3, |p, _| {
        let x = p.numbers(&[], 35.0);
        let t = p.input(
            &[],
            between(0.0, 1.0),
            |r, point| if point % 2 == 0 { 1.0 } else { r.uniform(0.0, 1e-9) },
        );
        let (s, u) = (p.sigmoid(&x), p.rest(&t));
        let rest = p.rest(&s);
        let (a, b) = (p.mul(&t, &s), p.mul(&u, &rest));
        let sum = p.add(&a, &b);
        p.log(&sum)
    }));
    all.push(of("one minus a sigmoid", 1, 1e3, |p, _| {
        let x = p.numbers(&[], 150.0);
        let s = p.sigmoid(&x);
        p.rest(&s)
    }));
    all.push(of("log of one minus a sigmoid", 1, 1e3, |p, _| {
        let x = p.numbers(&[], 150.0);
        let s = p.sigmoid(&x);
        let rest = p.rest(&s);
        p.log(&rest)
    }));
    all.push(of("one minus tanh", 1, 1e3, |p, _| {
        let x = p.numbers(&[], 80.0);
        let s = p.apply(Prim::Tanh, &[&x]);
        p.rest(&s)
    }));
    check(&all);
}

#[test]
fn magnitudes() {
    let mut all: Vec<Case> = Vec::new();
    let huge = |p: &mut Program, extents: &[usize]| {
        p.input(extents, ngc_dialects::facts::Fact::UNKNOWN, |r, point| {
            r.uniform(-1.0, 1.0) * if point % 2 == 0 { 1e250 } else { 1e-250 }
        })
    };
    let norm = |p: &mut Program, x: &Use, n: usize| {
        let squares = p.over(Reduce::Sum, n, |p, j| {
            let x = p.at(x, &[j]);
            p.power(&x, (2, 1))
        });
        p.power(&squares, (1, 2))
    };
    for n in sizes() {
        all.push(of("norm", n, 20.0, move |p, n| {
            let x = huge(p, &[n]);
            norm(p, &x, n)
        }));
        all.push(of("written-out norm", n, 20.0, move |p, n| {
            let squares: Vec<Use> = (0..n)
                .map(|_| {
                    let x = huge(p, &[]);
                    p.power(&x, (2, 1))
                })
                .collect();
            let sum = p.total(&squares);
            p.power(&sum, (1, 2))
        }));
        all.push(of("normalised", n, 20.0, move |p, n| {
            let x = huge(p, &[n]);
            let length = norm(p, &x, n);
            let one = p.at(&x, &[place(0)]);
            p.div(&one, &length)
        }));
        all.push(of("root mean square with epsilon", n, 20.0, move |p, n| {
            let x = huge(p, &[n]);
            let squares = p.over(Reduce::Sum, n, |p, j| {
                let x = p.at(&x, &[j]);
                p.power(&x, (2, 1))
            });
            let mean = p.scaled((1, n as i64), &squares);
            let more = p.plus(1, &mean);
            let root = p.power(&more, (1, 2));
            let one = p.at(&x, &[place(0)]);
            p.div(&one, &root)
        }));
        all.push(of("cosine", n, 1e4, move |p, n| {
            let (x, y) = (huge(p, &[n]), huge(p, &[n]));
            let (a, b) = (norm(p, &x, n), norm(p, &y, n));
            let dot = p.over(Reduce::Sum, n, |p, j| {
                let [x, y] = [&x, &y].map(|x| p.at(x, std::slice::from_ref(&j)));
                p.mul(&x, &y)
            });
            let lengths = p.mul(&a, &b);
            p.div(&dot, &lengths)
        }));
    }
    all.push(of("real part of a complex quotient", 2, 1e4, move |p, _| {
        let [a, b, c, d] = [0; 4].map(|_| huge(p, &[]));
        let (ac, bd) = (p.mul(&a, &c), p.mul(&b, &d));
        let (cc, dd) = (p.mul(&c, &c), p.mul(&d, &d));
        let (above, below) = (p.add(&ac, &bd), p.add(&cc, &dd));
        p.div(&above, &below)
    }));
    all.push(of("product over a divisor", 2, 20.0, move |p, _| {
        let [a, b, c] = [0; 3].map(|_| huge(p, &[]));
        let product = p.mul(&a, &b);
        p.div(&product, &c)
    }));
    // A large and a small number on each side: only one of the two ways to pair them stays in range.
    let sized = |p: &mut Program, size: f64| {
        p.input(&[], ngc_dialects::facts::Fact::UNKNOWN, move |r, point| {
            r.uniform(1.0, 2.0) * 10f64.powf(size * (point as f64 + 1.0) / 5.0)
        })
    };
    all.push(of("two products of far numbers", 2, 20.0, move |p, _| {
        let [a, b, c, d] = [300.0, 100.0, 290.0, -10.0].map(|size| sized(p, size));
        let (above, below) = (p.mul(&a, &b), p.mul(&c, &d));
        p.div(&above, &below)
    }));
    all.push(of("number over two products", 2, 20.0, move |p, _| {
        let [a, b, c] = [-150.0, -200.0, -180.0].map(|size| sized(p, size));
        let product = p.mul(&b, &c);
        p.div(&a, &product)
    }));
    all.push(of("fraction that falls with a cube", 2, 20.0, move |p, _| {
        let (x, y) = (sized(p, 140.0), sized(p, 130.0));
        let [cube, square] = [(&x, 3), (&x, 2)].map(|(x, e)| p.power(x, (e, 1)));
        let (sum, above) = (p.plus(2, &cube), p.mul(&square, &y));
        p.div(&above, &sum)
    }));
    check(&all);
}

#[test]
fn centred() {
    let mut all: Vec<Case> = Vec::new();
    let near = |p: &mut Program, extents: &[usize]| {
        p.input(extents, ngc_dialects::facts::Fact::UNKNOWN, |r, point| {
            let large = [1.0, 1e4, 1e6, 1e7][point % 4];
            (large + r.uniform(-1.0, 1.0)) * if point % 2 == 0 { 1.0 } else { -3.0 }
        })
    };
    for n in sizes() {
        all.push(of("variance", n, 1e3, move |p, n| {
            let x = near(p, &[n]);
            let squares = p.over(Reduce::Sum, n, |p, j| {
                let x = p.at(&x, &[j]);
                p.power(&x, (2, 1))
            });
            let sum = p.over(Reduce::Sum, n, |p, j| p.at(&x, &[j]));
            let (mean, of_squares) = (p.scaled((1, n as i64), &sum), p.scaled((1, n as i64), &squares));
            let square = p.power(&mean, (2, 1));
            p.sub(&of_squares, &square)
        }));
        all.push(of("sum of squares less n squares of the mean", n, 1e3, move |p, n| {
            let x = near(p, &[n]);
            let squares = p.over(Reduce::Sum, n, |p, j| {
                let x = p.at(&x, &[j]);
                p.power(&x, (2, 1))
            });
            let sum = p.over(Reduce::Sum, n, |p, j| p.at(&x, &[j]));
            let mean = p.scaled((1, n as i64), &sum);
            let square = p.power(&mean, (2, 1));
            let square = p.scaled((n as i64, 1), &square);
            p.sub(&squares, &square)
        }));
        all.push(of("covariance", n, 1e9, move |p, n| {
            let (x, y) = (near(p, &[n]), near(p, &[n]));
            let products = p.over(Reduce::Sum, n, |p, j| {
                let [x, y] = [&x, &y].map(|x| p.at(x, std::slice::from_ref(&j)));
                p.mul(&x, &y)
            });
            let [a, b] = [x, y].map(|x| p.over(Reduce::Sum, n, |p, j| p.at(&x, &[j])));
            let both = p.mul(&a, &b);
            let both = p.scaled((1, n as i64), &both);
            let left = p.sub(&products, &both);
            p.scaled((1, n as i64 - 1), &left)
        }));
        all.push(of("squared distance", n, 1e3, move |p, n| {
            let (x, y) = (near(p, &[n]), near(p, &[n]));
            let [xx, yy] = [&x, &y].map(|x| {
                p.over(Reduce::Sum, n, |p, j| {
                    let x = p.at(x, &[j]);
                    p.power(&x, (2, 1))
                })
            });
            let xy = p.over(Reduce::Sum, n, |p, j| {
                let [x, y] = [&x, &y].map(|x| p.at(x, std::slice::from_ref(&j)));
                p.mul(&x, &y)
            });
            let (both, twice) = (p.add(&xx, &yy), p.scaled((2, 1), &xy));
            p.sub(&both, &twice)
        }));
        all.push(of("distance from a mean that rounds", n, 1e8, move |p, n| {
            let x = near(p, &[n]);
            let sum = p.over(Reduce::Sum, n, |p, j| p.at(&x, &[j]));
            let mean = p.scaled((1, n as i64), &sum);
            let one = p.at(&x, &[place(1)]);
            p.sub(&one, &mean)
        }));
    }
    for n in [2, 3] {
        all.push(of("written-out variance", n, 1e3, move |p, n| {
            let x: Vec<Use> = (0..n).map(|_| near(p, &[])).collect();
            let squares: Vec<Use> = x.iter().map(|x| p.power(x, (2, 1))).collect();
            let (sum, squares) = (p.total(&x), p.total(&squares));
            let (mean, of_squares) = (p.scaled((1, n as i64), &sum), p.scaled((1, n as i64), &squares));
            let square = p.power(&mean, (2, 1));
            p.sub(&of_squares, &square)
        }));
        all.push(of("written-out covariance", n, 1e9, move |p, n| {
            let (x, y): (Vec<Use>, Vec<Use>) = (0..n).map(|_| (near(p, &[]), near(p, &[]))).unzip();
            let products: Vec<Use> = x.iter().zip(&y).map(|(x, y)| p.mul(x, y)).collect();
            let [sx, sy, sxy] = [&x, &y, &products].map(|x| p.total(x));
            let both = p.mul(&sx, &sy);
            let both = p.scaled((1, n as i64), &both);
            p.sub(&sxy, &both)
        }));
    }
    check(&all);
}

#[test]
fn quotients() {
    let mut all: Vec<Case> = Vec::new();
    all.push(of("difference of reciprocals", 2, 20.0, |p, _| {
        let x = p.input(&[], between(0.0, f64::INFINITY), |r, point| {
            r.uniform(1.0, 2.0) * 10f64.powi(3 * point as i32)
        });
        let next = p.plus(1, &x);
        let (a, b) = (p.power(&x, (-1, 1)), p.power(&next, (-1, 1)));
        p.sub(&a, &b)
    }));
    all.push(of("two of three reciprocals", 3, 20.0, |p, _| {
        let x = p.input(&[], between(10.0, f64::INFINITY), |r, point| {
            r.uniform(10.0, 20.0) * 10f64.powi(2 * point as i32)
        });
        let (above, below) = (p.plus(1, &x), p.plus(-1, &x));
        let [a, b, c] = [above, x, below].map(|x| p.power(&x, (-1, 1)));
        let (ends, twice) = (p.add(&a, &c), p.scaled((2, 1), &b));
        p.sub(&ends, &twice)
    }));
    all.push(of("tanh of exponentials from 1", 2, 20.0, |p, _| {
        let x = p.numbers(&[], 40.0);
        let twice = p.scaled((2, 1), &x);
        let e = p.exp(&twice);
        let (above, below) = (p.plus(-1, &e), p.plus(1, &e));
        let t = p.div(&above, &below);
        p.rest(&t)
    }));
    for n in [4, 6] {
        all.push(of("difference of powers", n, 30.0, move |p, n| {
            let a = p.input(&[], ngc_dialects::facts::Fact::UNKNOWN, |r, _| r.uniform(1.0, 2.0));
            let b = p.input(&[], ngc_dialects::facts::Fact::UNKNOWN, |r, _| r.uniform(1.0, 2.0));
            let near = p.inputs[0].points.clone();
            for (point, own) in p.inputs[1].points.iter_mut().zip(near) {
                point[0] = own[0] * (1.0 + 1e-9 * point[0]);
            }
            let [a, b] = [a, b].map(|x| p.power(&x, (n as i64, 1)));
            p.sub(&a, &b)
        }));
    }
    check(&all);
}

#[test]
fn divergences() {
    let mut all: Vec<Case> = Vec::new();
    // The second of two inputs lies near the first.
    let bring_near = |p: &mut Program| {
        let near = p.inputs[0].points.clone();
        for (point, own) in p.inputs[1].points.iter_mut().zip(near) {
            point.iter_mut().zip(own).for_each(|(x, own)| *x = own + 1e-6 * *x);
        }
    };
    for n in sizes() {
        all.push(of("divergence of softmaxes", n, 1e8, move |p, n| {
            let (x, y) = (p.numbers(&[n], 3.0), p.numbers(&[n], 3.0));
            bring_near(p);
            p.over(Reduce::Sum, n, |p, j| {
                let (a, b) = (p.softmax(&x, n, j.clone()), p.softmax(&y, n, j));
                let (quotient, logs) = (p.div(&a, &b), [&a, &b].map(|x| p.log(x)));
                let log = if n == 2 { p.log(&quotient) } else { p.sub(&logs[0], &logs[1]) };
                p.mul(&a, &log)
            })
        }));
    }
    all.push(of("divergence of two outcomes", 2, 1e3, move |p, _| {
        let (x, y) = (p.numbers(&[], 3.0), p.numbers(&[], 3.0));
        bring_near(p);
        let [a, b] = [x, y].map(|x| p.sigmoid(&x));
        let [c, d] = [&a, &b].map(|x| p.rest(x));
        let (one, other) = (p.div(&a, &b), p.div(&c, &d));
        let (one, other) = (p.log(&one), p.log(&other));
        let (one, other) = (p.mul(&a, &one), p.mul(&c, &other));
        p.add(&one, &other)
    }));
    for n in sizes() {
        all.push(of("divergence from the mean of both", n, 1e2, move |p, n| {
            let (x, y) = [(); 2]
                .map(|()| p.input(&[n], between(0.0, f64::INFINITY), |r, _| r.uniform(1.0, 2.0)))
                .into();
            bring_near(p);
            p.over(Reduce::Sum, n, |p, j| {
                let [a, b] = [&x, &y].map(|x| p.at(x, std::slice::from_ref(&j)));
                let sum = p.add(&a, &b);
                let mean = p.scaled((1, 2), &sum);
                let log = p.log(&mean);
                let parts = [&a, &b].map(|x| {
                    let own = p.log(x);
                    let apart = p.sub(&own, &log);
                    p.mul(x, &apart)
                });
                p.add(&parts[0], &parts[1])
            })
        }));
    }
    all.push(of("deviance of rates", 2, 1e6, |p, _| {
        let a = p.input(&[], between(0.0, f64::INFINITY), |r, _| r.uniform(1.0, 2.0));
        let b = p.input(&[], between(0.0, f64::INFINITY), |r, _| r.uniform(1.0, 2.0));
        let near = p.inputs[0].points.clone();
        for (point, own) in p.inputs[1].points.iter_mut().zip(near) {
            point[0] = own[0] * (1.0 + 1e-6 * point[0]);
        }
        let quotient = p.div(&a, &b);
        let log = p.log(&quotient);
        let (product, apart) = (p.mul(&a, &log), p.sub(&b, &a));
        p.add(&product, &apart)
    }));
    check(&all);
}
